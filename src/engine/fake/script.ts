import { parse as parseYaml } from 'yaml'
import { z } from 'zod'
import { textOf } from '../../canonical/parts.ts'
import { AppError } from '../../contract/errors.ts'
import { bytesOf } from '../../contract/media.ts'
import type { ContentPart, MediaPart, OutputPart, Prompt } from '../../contract/request.ts'
import { splitWords } from './words.ts'

/** The fake model's reply to one request. One chunk is one token. */
export type ScriptedReply = {
  readonly chunks: readonly string[]
  readonly delayMs: number
  readonly finish: 'stop' | 'length'
  /** The engine fails after this many chunks; absent: it does not. */
  readonly failAfter?: number
}

/** Chooses the reply to a prompt. Throws `invalid-request` when no reply fits. */
export type Script = (prompt: Prompt) => ScriptedReply

const replySchema = z
  .strictObject({
    raw: z.string().optional(),
    chunks: z.array(z.string()).optional(),
    delayMs: z.number().int().min(0).max(3_600_000).default(0),
    finish: z.enum(['stop', 'length']).default('stop'),
    failAfter: z.number().int().min(0).optional(),
  })
  .superRefine(({ raw, chunks }, context) => {
    if (raw === undefined && chunks === undefined) {
      context.addIssue({ code: 'custom', path: ['raw'], message: "a reply needs 'raw' or 'chunks'" })
    } else if (raw !== undefined && chunks !== undefined && chunks.join('') !== raw) {
      context.addIssue({ code: 'custom', path: ['chunks'], message: "'chunks' must join to 'raw' when both are given" })
    }
  })

/** A reply's last chunk is the rest of a longer text. */
const maxWords = 100_000
/** Longer texts in JSON would hold up other work while they are parsed. */
const maxScriptChars = 1024 * 1024

type ReplyFields = z.infer<typeof replySchema>

const fileSchema = z
  .array(z.strictObject({ match: z.string().optional(), result: z.string().optional(), reply: replySchema }))
  .min(1)

/**
 * The last user message is the script: a JSON object with the reply's fields (media beside it are ignored), or text that is echoed with
 * descriptions of its media.
 */
export const scriptFromRequest: Script = (prompt) => {
  const text = lastUserText(prompt, textOf)
  const fields = parseObject(text)
  if (fields === undefined) {
    return toReply({ raw: prompt.type === 'chat' ? lastUserText(prompt, seenText) : text, delayMs: 0, finish: 'stop' })
  }
  const parsed = replySchema.safeParse(fields)
  if (parsed.success) return toReply(parsed.data)
  const { param, message } = firstIssue(parsed.error)
  throw new AppError('invalid-request', `the fake engine's script in the last user message is wrong at ${message}`, { param })
}

/**
 * Reads a script file: a list of `{match, result, reply}`, where the first entry wins whose `match` matches the last user message, and
 * whose `result` the results of tools that came since the model spoke.
 */
export function parseScriptFile(yaml: string, file: string): Script {
  return scriptOf(readYaml(yaml, file), file)
}

/** Reads a script from parsed entries; errors name it `file`. */
export function scriptOf(entries: unknown, file: string): Script {
  const parsed = fileSchema.safeParse(entries)
  if (!parsed.success) throw wrongFile(file, `wrong at ${firstIssue(parsed.error).message}`, parsed.error)
  const rules = parsed.data.map(({ match, result, reply }, index) => ({
    pattern: compile(match, { file, at: `[${index}].match` }),
    resultPattern: compile(result, { file, at: `[${index}].result` }),
    reply,
  }))
  return (prompt) => {
    const text = lastUserText(prompt, seenText)
    const results = newResults(prompt)
    for (const { pattern, resultPattern, reply } of rules) {
      const match = pattern === undefined ? [] : pattern.exec(text)
      const found = resultPattern === undefined ? [] : results === undefined ? null : resultPattern.exec(results)
      // The groups of `result` win: the result is newer.
      if (match !== null && found !== null) return toReply(reply, found.length > 0 ? found : match)
    }
    throw new AppError(
      'invalid-request',
      `no entry of the fake engine's script '${file}' matches the last user message; add one without 'match' as the fallback`,
      { at: ['prompt', 'messages'] },
    )
  }
}

/** The texts of a prompt, in order; the fake engine counts their words. */
export function textsOf(prompt: Prompt): readonly string[] {
  switch (prompt.type) {
    case 'text':
      return [prompt.text]
    case 'infill':
      return [prompt.prefix, prompt.suffix]
    case 'tokens':
      return [prompt.tokens.join(' ')]
    case 'chat':
      return prompt.messages.map((message) => seenText(message.role === 'assistant' ? message.parts : message.content))
  }
}

function lastUserText(prompt: Prompt, read: (content: readonly ContentPart[]) => string): string {
  if (prompt.type !== 'chat') return textsOf(prompt).join(' ')
  const message = prompt.messages.findLast(({ role }) => role === 'user')
  return message === undefined || message.role === 'assistant' ? '' : read(message.content)
}

/** The texts of the tools' results since the model spoke; undefined without any. */
function newResults(prompt: Prompt): string | undefined {
  if (prompt.type !== 'chat') return undefined
  const last = prompt.messages.findLastIndex(({ role }) => role === 'assistant')
  const results = prompt.messages
    .slice(last + 1)
    .flatMap((message) => (message.role === 'tool' ? [seenText(message.content)] : []))
  return results.length === 0 ? undefined : results.join('\n')
}

function toReply({ raw, chunks, delayMs, finish, failAfter }: ReplyFields, match: readonly string[] = []): ScriptedReply {
  const texts = (chunks ?? [raw ?? '']).map((text) => fillIn(text, match))
  return {
    chunks: chunks === undefined ? texts.flatMap((text) => splitWords(text, maxWords)) : texts,
    delayMs,
    finish,
    ...(failAfter !== undefined && { failAfter }),
  }
}

/** Replaces `$1` to `$99` by groups; a number without a group is not replaced. */
function fillIn(text: string, match: readonly string[]): string {
  if (match.length < 2) return text
  return text.replace(/\$(\d{1,2})/g, (reference, digits) =>
    Number(digits) in match ? (match[Number(digits)] ?? '') : reference,
  )
}

function parseObject(text: string): object | undefined {
  if (!/^\s{0,100}\{/.test(text)) return undefined
  if (text.length > maxScriptChars) {
    const message = `the fake engine's script in the last user message has ${text.length} characters: send at most ${maxScriptChars}`
    throw new AppError('invalid-request', message, { at: ['prompt', 'messages'] })
  }
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON, so it is plain text.
    return undefined
  }
}

function readYaml(yaml: string, file: string): unknown {
  try {
    return parseYaml(yaml)
  } catch (error) {
    throw wrongFile(file, `not YAML: ${error instanceof Error ? error.message : error}`, error)
  }
}

function compile(pattern: string | undefined, { file, at }: { file: string; at: string }): RegExp | undefined {
  if (pattern === undefined) return undefined
  try {
    return new RegExp(pattern)
  } catch (error) {
    throw wrongFile(file, `wrong at ${at}: ${error instanceof Error ? error.message : error}`, error)
  }
}

function wrongFile(file: string, problem: string, cause: unknown): AppError {
  return new AppError('model-unavailable', `the fake engine's script '${file}' is ${problem}`, { cause })
}

function firstIssue(error: z.ZodError): { param: string; message: string } {
  const issue = error.issues[0]
  const path = issue?.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] ?? ''] : (issue?.path ?? [])
  const param = path
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`))
    .join('')
    .replace(/^\./, '')
  return { param, message: `'${param}': ${issue?.message}` }
}

const shownHash = 12

/**
 * How the fake model describes media: `[image image/png 95 bytes 40x30 sha256:0123456789ab]`. Equal bytes have equal descriptions, however
 * they were sent.
 */
function describeMedia(part: MediaPart): string {
  const { mediaType, sizeBytes, sha256, width, height, durationMs } = bytesOf(part)
  const facts = [
    part.kind,
    mediaType,
    `${sizeBytes} bytes`,
    ...(width !== undefined && height !== undefined ? [`${width}x${height}`] : []),
    ...(durationMs !== undefined ? [`${durationMs} ms`] : []),
    ...(part.detail !== undefined ? [`detail:${part.detail}`] : []),
    `sha256:${sha256.slice(0, shownHash)}`,
  ]
  return `[${facts.join(' ')}]`
}

/** The text of a content, with descriptions in place of its media. */
function seenText(parts: readonly (ContentPart | OutputPart)[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : part.type === 'media' ? describeMedia(part) : '')).join('')
}
