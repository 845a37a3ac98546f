// The browser's formats of numbers and times, each made once: to make one takes as long as a hundred uses of it, and a
// page has thousands of cells.
const numbers = new Map<string, Intl.NumberFormat>(), dates = new Map<string, Intl.DateTimeFormat>();

function kept<Format>(all: Map<string, Format>, language: string, options: object, make: () => Format): Format {
  const key = language + JSON.stringify(options);
  let format = all.get(key);
  if (!format) all.set(key, (format = make()));
  return format;
}

export function numberFormat(language: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  return kept(numbers, language, options, () => new Intl.NumberFormat(language, options));
}

export function dateFormat(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return kept(dates, language, options, () => new Intl.DateTimeFormat(language, options));
}
