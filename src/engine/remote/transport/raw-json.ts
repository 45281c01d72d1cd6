import { randomUUID } from 'node:crypto'

/** The raw texts of the body being written. Writing is synchronous, so one variable suffices. */
let texts: string[] = []
/** No text of a caller can contain it. */
const mark = `raw-${randomUUID()}-`
const marked = new RegExp(`"${mark}(\\d+)"`, 'g')

/** JSON text to insert into a body as it is. `JSON.parse` would round a number in it. */
export class RawJson {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toJSON(): string {
    texts.push(this.#text)
    return `${mark}${texts.length - 1}`
  }
}

/** The JSON of a body, with the text of each `RawJson` as it is. */
export function bodyText(body: unknown): string {
  texts = []
  const json = JSON.stringify(body)
  const found = texts
  return found.length === 0 ? json : json.replaceAll(marked, (_, index) => found[Number(index)] ?? 'null')
}
