import { RawJson } from './exact-json.ts'

const lineBreak = /[\u0085\u2028\u2029]/
/** Half a character, which does not occur in texts on this wire: JSON writes it as an escape. */
const mark = '\ud800raw'
const marked = /"\\ud800raw(\d+)"/g
const lineBreaks = /[\u0085\u2028\u2029]/g

/** JSON that is one line for every client: httpx splits streams with Python's `splitlines`, which also breaks lines at these characters. */
export function toFrameJson(value: unknown): string {
  return escapeBreaks(JSON.stringify(value))
}

function escapeBreaks(json: string): string {
  if (!lineBreak.test(json)) return json
  return json.replace(lineBreaks, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** As `toFrameJson`, for a value that contains raw JSON texts, which are written unchanged. */
export function toExactFrameJson(value: unknown): string {
  const raw: string[] = []
  const json = JSON.stringify(value, function (this: unknown, key: string, item: unknown) {
    // The value before its `toJSON`.
    const given: unknown = Reflect.get(Object(this), key)
    if (!(given instanceof RawJson)) return item
    raw.push(given.text)
    return `${mark}${raw.length - 1}`
  })
  if (raw.length === 0) return toFrameJson(value)
  return escapeBreaks(json.replace(marked, (text, index) => raw[Number(index)] ?? text))
}
