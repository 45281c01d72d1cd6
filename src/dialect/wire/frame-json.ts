const lineBreak = /[\u0085\u2028\u2029]/
const lineBreaks = /[\u0085\u2028\u2029]/g

/** JSON on one line for every client: httpx splits streams with Python's `splitlines`, which breaks lines at these as well. */
export function toFrameJson(value: unknown): string {
  const json = JSON.stringify(value)
  if (!lineBreak.test(json)) return json
  return json.replace(lineBreaks, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
