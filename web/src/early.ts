// What is asked while the pages' program is still on its way: who is logged in, and what the page is about. Whoever asks the
// same later takes that answer, once, and soon: a page that comes later asks anew.

const answers = new Map<string, Promise<Response>>();
const soon = 5000;  // ms

export function askEarly(paths: string[]) {
  for (const path of paths) {
    const answer = fetch(path, { headers: { Accept: "application/json" }, credentials: "same-origin" });
    answer.catch(() => {});  // who takes it is told
    answers.set(path, answer);
  }
  setTimeout(forget, soon);
}

/** What was asked early is of no use: nobody is logged in. */
export function forget() {
  answers.clear();
}

export function early(path: string): Promise<Response> | undefined {
  const answer = answers.get(path);
  answers.delete(path);
  return answer;
}
