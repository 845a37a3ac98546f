// The language that the pages speak, kept in the browser; and the functions that say something in it.
import { numberFormat } from "./formats";
import { type Key, texts } from "./texts";

type Language = "en" | "fr";

function first(): Language {
  const kept = localStorage.getItem("language");
  if (kept === "en" || kept === "fr") return kept;
  return navigator.language.startsWith("fr") ? "fr" : "en";
}

const spoken = $state({ language: first() });

export function language(): Language {
  return spoken.language;
}

export function speak(next: Language) {
  spoken.language = next;
  localStorage.setItem("language", next);
  document.documentElement.lang = next;
}

export function t(key: Key, ...values: (string | number)[]): string {
  const text: string = texts[key][spoken.language === "en" ? 0 : 1];
  return text.replace(/\{(\d)\}/g, (_, index: string) => String(values[Number(index)] ?? ""));
}

/** The text of a key that may be missing, with named numbers filled in. */
export function say(key: string, otherwise: string, numbers: Record<string, number> = {}, names: Record<string, string> = {}): string {
  const pair = (texts as Record<string, readonly [string, string]>)[key];
  if (!pair) return otherwise;
  const format = numberFormat(spoken.language, { maximumFractionDigits: 1 });
  return pair[spoken.language === "en" ? 0 : 1].replace(/\{(\w+)\}/g, (_, name: string) => names[name] ?? format.format(numbers[name] ?? 0));
}

export function stateWord(state: string): string {
  return say(`state.${state}`, state.toLowerCase().replaceAll("_", " "));
}

document.documentElement.lang = spoken.language;
