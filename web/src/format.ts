// Numbers, times and texts of others as people read them. Nothing here makes HTML.
import { dateFormat, numberFormat } from "./formats";
import { language, t } from "./language.svelte";

export function number(value: number, digits = 0): string {
  return numberFormat(language(), { maximumFractionDigits: digits }).format(value);
}

export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let at = 0;
  while (Math.abs(value) >= 1024 && at < units.length - 1) {
    value /= 1024;
    ++at;
  }
  return `${number(value, value < 10 && at > 0 ? 1 : 0)} ${units[at]}`;
}

/** 1-02:03:04, as Slurm's commands write it. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return "";
  const whole = Math.floor(seconds);
  const two = (value: number) => String(value).padStart(2, "0");
  const days = Math.floor(whole / 86400), clock = `${two(Math.floor(whole / 3600) % 24)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
  return days > 0 ? `${days}-${clock}` : clock;
}

export function limit(minutes: number | null): string {
  return minutes === null ? t("unlimited") : duration(minutes * 60);
}

export function moment(time: number): string {
  if (!time) return "–";
  const date = new Date(time * 1000), isToday = new Date().toDateString() === date.toDateString();
  return dateFormat(language(), isToday ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" }).format(date);
}

export function percent(value: number): string {
  return `${number(value, value < 10 ? 1 : 0)} %`;
}

/** A span as people say it: "3 h", "2 d 4 h". */
export function span(seconds: number): string {
  const unit = (value: number, name: "day" | "hour" | "minute" | "second") =>
    numberFormat(language(), { style: "unit", unit: name, unitDisplay: "short", maximumFractionDigits: 0 }).format(value);
  if (seconds < 60) return unit(seconds, "second");
  if (seconds < 3600) return unit(Math.round(seconds / 60), "minute");
  if (seconds < 86400) {
    const minutes = Math.round(seconds / 60) % 60, hours = Math.floor(Math.round(seconds / 60) / 60);
    return minutes && hours < 10 ? `${unit(hours, "hour")} ${unit(minutes, "minute")}` : unit(hours, "hour");
  }
  const hours = Math.round(seconds / 3600) % 24, days = Math.floor(Math.round(seconds / 3600) / 24);
  return hours && days < 10 ? `${unit(days, "day")} ${unit(hours, "hour")}` : unit(days, "day");
}

export function day(time: number): string {
  return time ? dateFormat(language(), { dateStyle: "medium" }).format(new Date(time * 1000)) : "–";
}

/** A sum of money in what a site counts in. */
export function money(value: number, currency: string, digits = 2): string {
  const amount = numberFormat(language(), { minimumFractionDigits: 2, maximumFractionDigits: Math.max(2, digits) }).format(value);
  return language() === "fr" ? `${amount}\u00a0${currency}` : currency.length === 1 ? `${currency}${amount}` : `${amount}\u00a0${currency}`;
}

/** What a terminal would obey is left out or shown as a mark: colours, cursor, direction of writing. A line that was
 * written over (progress bars) is shown as it was last. */
export function plainLines(text: string): string {
  return text
    // eslint-disable-next-line no-control-regex
    .replace(/\x1b\[[0-?]*[ -/]*[@-~]/g, "")
    // eslint-disable-next-line no-control-regex
    .replace(/\x1b\][^\x07\x1b]*(\x07|\x1b\\)/g, "")
    .split("\n")
    .map((line) => line.replace(/\r+$/, ""))
    .map((line) => line.slice(line.lastIndexOf("\r") + 1))
    .join("\n")
    // eslint-disable-next-line no-control-regex
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]/g, "\ufffd");
}
