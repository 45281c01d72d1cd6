import { isObject } from '../base/json.ts'
import { parseExactly } from '../base/parse-exactly.ts'
import { splitLines } from '../base/text/split-lines.ts'
import type { JsonObject } from '../contract/request.ts'
import type { BatchFault, BatchLine } from '../contract/server/batches.ts'
import { groupingOf } from './grouping.ts'

export const maxLines = 50_000
/** Beyond it, faults are only counted. */
const maxFaults = 1000

type Rules = {
  readonly endpoint: string
  readonly maxLineBytes: number
  /** Why the caller cannot use the model; undefined: it can. */
  refuseModel(name: string): Promise<string | undefined>
}

/** Fields that a line cannot set. */
const pointless = [
  { field: 'stream', why: 'nobody reads the stream of a batch' },
  { field: 'background', why: 'a batch waits for the whole reply of each line' },
]

/** A line, or what is wrong with it. */
type Read = { readonly line: BatchLine } | { readonly fault: BatchFault }

/** Reads a file of JSON lines while it arrives, in OpenAI's form. `take` gets the sound lines. Resolves with all faults. */
export async function readLines(
  bytes: AsyncIterable<Uint8Array>,
  rules: Rules,
  take: (line: BatchLine) => Promise<void> | undefined,
): Promise<readonly BatchFault[]> {
  const faults: BatchFault[] = []
  let unlisted = 0
  const note = (fault: BatchFault) => {
    if (faults.length < maxFaults) faults.push(fault)
    else unlisted += 1
  }
  const check = new LineCheck(rules)
  let number = 0
  let count = 0
  for await (const text of splitLines(bytes, rules.maxLineBytes)) {
    number += 1
    // Some editors begin a file with a mark of its encoding, which JSON does not have; `trim` takes it for white space.
    if (text?.trim() === '') continue
    count += 1
    if (count > maxLines) return [{ code: 'too_many_tasks', message: `a batch has at most ${maxLines} lines; split the file` }]
    const read = text === undefined ? tooLong(number, rules) : await check.read(number === 1 ? text.trim() : text, number)
    if ('fault' in read) note(read.fault)
    else if (faults.length === 0) await take(read.line)
  }
  if (count === 0) note({ code: 'empty_file', message: 'the input file has no lines; write one JSON object in each' })
  if (unlisted === 0) return faults
  return [...faults, { code: 'more_faults', message: `${unlisted} more lines have faults` }]
}

/** Checks lines one after the other. */
export class LineCheck {
  readonly #rules: Rules
  readonly #lineOf = new Map<string, number>()
  readonly #refusals = new Map<string, Promise<string | undefined>>()

  constructor(rules: Rules) {
    this.#rules = rules
  }

  async read(text: string, line: number): Promise<Read> {
    let value: unknown
    try {
      value = parseExactly(text)
    } catch {
      return fault(line, 'invalid_json_line', 'this line is not valid JSON')
    }
    if (!isObject(value)) return fault(line, 'invalid_json_line', 'this line is not a JSON object')
    const { custom_id: customId, method, url, body } = value
    if (method !== 'POST') return fault(line, 'invalid_method', `method is ${shown(method)}: it must be "POST"`, 'method')
    if (url !== this.#rules.endpoint) {
      return fault(line, 'invalid_url', `url is ${shown(url)}: it must be the batch's endpoint, "${this.#rules.endpoint}"`, 'url')
    }
    return this.check({ customId, body, bodyName: 'body' }, line)
  }

  /** `bodyName`: of the body's field in the caller's protocol. */
  async check(
    given: { readonly customId: unknown; readonly body: unknown; readonly bodyName: string },
    line: number,
  ): Promise<Read> {
    const { customId, body, bodyName } = given
    // PostgreSQL's texts have no U+0000.
    if (typeof customId !== 'string' || customId === '' || customId.length > 512 || customId.includes('\0')) {
      const message = `custom_id is ${shown(customId)}: it must be a text of 1 to 512 characters other than U+0000`
      return fault(line, 'missing_required_parameter', message, 'custom_id')
    }
    const earlier = this.#lineOf.get(customId)
    if (earlier !== undefined) {
      return fault(line, 'duplicate_custom_id', `custom_id ${shown(customId)} is also that of line ${earlier}`, 'custom_id')
    }
    this.#lineOf.set(customId, line)
    if (!isObject(body)) {
      return fault(line, 'missing_required_parameter', `${bodyName} is ${shown(body)}: it must be an object`, bodyName)
    }
    const { model } = body
    const refused = pointless.find(({ field }) => body[field] === true)
    if (refused !== undefined) {
      const name = `${bodyName}.${refused.field}`
      return fault(line, 'invalid_request', `${name} is true: ${refused.why}; leave it out`, name)
    }
    if (typeof model !== 'string') {
      return fault(line, 'missing_required_parameter', `${bodyName}.model is ${shown(model)}: name a model`, `${bodyName}.model`)
    }
    const refusal = await this.#refuse(model)
    if (refusal !== undefined) return fault(line, 'model_not_found', refusal, `${bodyName}.model`)
    try {
      return { line: { line, customId, model, grouping: groupingOf(body as JsonObject), body: JSON.stringify(body) } }
    } catch {
      // Text of more levels can be read than values can be written.
      return fault(line, 'invalid_request', `${bodyName} is nested too deeply`, bodyName)
    }
  }

  #refuse(model: string): Promise<string | undefined> {
    const known = this.#refusals.get(model) ?? this.#rules.refuseModel(model)
    this.#refusals.set(model, known)
    return known
  }
}

function fault(line: number, code: string, message: string, param?: string): { readonly fault: BatchFault } {
  return { fault: { code, message, line, ...(param !== undefined && { param }) } }
}

function tooLong(line: number, { maxLineBytes }: Rules): Read {
  return fault(
    line,
    'invalid_json_line',
    `this line is longer than ${maxLineBytes} bytes, the limit of a request (server.bodyLimitBytes)`,
  )
}

function shown(value: unknown): string {
  return value === undefined ? 'missing' : (JSON.stringify(value)?.slice(0, 80) ?? 'invalid')
}
