import type { DecodedCall } from '../../contract/dialect.ts'
import { AppError } from '../../contract/errors.ts'
import { type Prompt, plainRequest } from '../../contract/request.ts'
import { nestedConstraintFields } from '../openai/common-fields.ts'
import { decodeCommon, decodeIncludeUsage } from '../openai/decode-common.ts'
import { decodeForwarded } from '../openai/decode-forwarded.ts'
import { decodeOutput } from '../openai/decode-output.ts'
import { commonNames, nameOutput } from '../openai/field-names.ts'
import { refusePromptLogprobsInStream } from '../openai/logprobs/prompt-logprobs.ts'
import { decodeServerFields } from '../openai/server-fields.ts'
import { pickSpelling, spellingsOf } from '../openai/spelling.ts'
import { decodeProgress } from '../openai/times/running-fields.ts'
import { nameField } from '../wire/field-names.ts'
import { indexFields } from '../wire/field-table.ts'
import { unknownKeys } from '../wire/unknown-keys.ts'
import { bodyReader } from '../wire/validate.ts'
import { completionFields, defaultMaxTokens } from './fields.ts'
import { type CompletionWire, completionRequestSchema } from './schema.ts'

/** The tokens of a prompt are objects in every choice: megabytes that are encoded in one piece. */
const maxEchoChoices = 4
const unknownInside = unknownKeys(completionRequestSchema, indexFields(nestedConstraintFields))
const readBody = bodyReader(completionRequestSchema, completionFields)
const completionNames = {
  ...commonNames,
  prompt: ['prompt'],
  'prompt.text': ['prompt'],
  'prompt.tokens': ['prompt'],
  'prompt.prefix': ['prompt'],
  'prompt.suffix': ['suffix'],
} as const

/** A text completion request in canonical form, one request per prompt, and the options of its reply. */
export type DecodedCompletion = Pick<DecodedCall, 'requests' | 'stream' | 'ignored' | 'nameOf'> & {
  /** The prefix of the text of each prompt's choices; empty if the engine reports the prompt's tokens. */
  readonly echoes: readonly string[]
  /** The reply contains the log-probabilities of the prompt, whose tokens may be missing from its text. */
  readonly promptLogprobs?: { readonly isTextHidden: boolean }
  readonly includeUsage: boolean
  /** Each chunk of the stream has the timings so far. */
  readonly timingsPerToken: boolean
}

/** Throws `invalid-request` or `unsupported-field`, with `param`, for a body that Dragoman cannot serve completely. */
export function decodeCompletion(body: unknown, requestId: string): DecodedCompletion {
  const { wire, ignored } = readBody(body)
  const ignoredInside = unknownInside(body)
  const [first, ...rest] = decodePrompts(wire)
  const logprobs = decodeLogprobs(wire)
  const echoesTokens = needsPromptTokens(wire, [first, ...rest])
  const promptTop = decodePromptLogprobs(wire)
  const reportedTop = promptTop ?? logprobs
  const output = decodeOutput(wire)
  const shared = {
    prompt: first,
    ...plainRequest,
    ...decodeCommon(wire, defaultMaxTokens),
    ...decodeForwarded({ user: wire.user }),
    ...decodeServerFields(wire, 'text'),
    ...decodeProgress(wire),
    ...(wire.skip_special_tokens === false && { showsSpecialTokens: true as const }),
    ...(pickSpelling(wire, spellingsOf.limit) === undefined && { isMaxOutputAssumed: true as const }),
    output: output.constraint,
    ...(logprobs !== undefined && { logprobs: { top: logprobs } }),
    ...((echoesTokens || promptTop !== undefined) && {
      promptTokens: reportedTop !== undefined ? { logprobs: { top: reportedTop } } : {},
    }),
  }
  return {
    requests: [
      { id: requestId, ...shared },
      ...rest.map((prompt, index) => ({ id: `${requestId}-${index + 1}`, ...shared, prompt })),
    ],
    echoes: [first, ...rest].map((prompt) => (wire.echo === true && !echoesTokens ? textOf(prompt) : '')),
    ...(promptTop !== undefined && { promptLogprobs: { isTextHidden: !echoesTokens } }),
    stream: wire.stream ?? false,
    includeUsage: decodeIncludeUsage(wire),
    timingsPerToken: wire.timings_per_token === true,
    ignored: [...ignored, ...ignoredInside],
    // The message names a position inside the prompt, such as one of its tokens.
    nameOf: (path) => {
      if (path[0] === 'output') return nameOutput(output.param, path)
      return nameField(completionNames, wire, path[0] === 'prompt' ? path.slice(0, 2) : path)
    },
  }
}

/** The number of top log-probabilities for each token; undefined: no log-probabilities. */
function decodeLogprobs({ logprobs, n_probs }: CompletionWire): number | undefined {
  const own = typeof logprobs === 'boolean' ? (logprobs ? 1 : undefined) : (logprobs ?? undefined)
  const other = n_probs === 0 ? undefined : n_probs
  return pickSpelling({ logprobs: own, n_probs: other }, ['logprobs', 'n_probs'])
}

/** Two different numbers would be two reports of the prompt's tokens. */
function decodePromptLogprobs(wire: CompletionWire): number | undefined {
  const { prompt_logprobs: top, echo, n } = wire
  if (top === undefined || top === null) return undefined
  refusePromptLogprobsInStream(wire)
  const logprobs = decodeLogprobs(wire)
  if (echo === true && logprobs !== undefined && logprobs !== top) {
    const message = `prompt_logprobs ${top} with echo and logprobs ${logprobs}: send the same number`
    throw new AppError('invalid-request', message, { param: 'prompt_logprobs' })
  }
  if ((n ?? 1) > maxEchoChoices) {
    const message = `n ${n} with prompt_logprobs repeats them for every choice: send at most ${maxEchoChoices}`
    throw new AppError('invalid-request', message, { param: 'n' })
  }
  return top
}

function decodePrompts({ prompt, suffix }: CompletionWire): [Prompt, ...Prompt[]] {
  const [first, ...rest] = decodePlain(prompt)
  if (suffix === undefined || suffix === null || suffix === '') return [first, ...rest]
  const infill = (plain: Prompt): Prompt => {
    if (plain.type === 'text') return { type: 'infill', prefix: plain.text, suffix }
    throw unsupported('suffix', 'with token ids: send the prompt as text')
  }
  return [infill(first), ...rest.map(infill)]
}

function decodePlain(prompt: CompletionWire['prompt']): [Prompt, ...Prompt[]] {
  if (typeof prompt === 'string') return [rawText(prompt)]
  if (isTokens(prompt)) return [{ type: 'tokens', tokens: prompt }]
  const [first, ...rest] = prompt.map(decodePrompt)
  if (first === undefined) throw new Error('an empty array of prompts was validated')
  return [first, ...rest]
}

/** The caller writes the template's part, too, as on every server with this route. */
function rawText(text: string): Extract<Prompt, { type: 'text' }> {
  return { type: 'text', text, readsControlTokens: true }
}

function isTokens(prompt: readonly (string | number | readonly number[])[]): prompt is readonly number[] {
  return typeof prompt[0] === 'number'
}

function decodePrompt(prompt: string | number | readonly number[]): Prompt {
  if (typeof prompt === 'string') return rawText(prompt)
  return { type: 'tokens', tokens: typeof prompt === 'number' ? [prompt] : prompt }
}

/** Whether `echo` needs the prompt's tokens: for log-probabilities, for a prompt of token ids, or with no output to generate. */
function needsPromptTokens(wire: CompletionWire, prompts: readonly Prompt[]): boolean {
  const { echo } = wire
  const zero = spellingsOf.limit.find((name) => wire[name] === 0)
  if (echo !== true) {
    if (zero === undefined) return false
    const message = `${zero}: expected an integer of at least 1; 0 requires echo true, for a reply with the prompt only`
    throw new AppError('invalid-request', message, { param: zero })
  }
  const isNeeded = decodeLogprobs(wire) !== undefined || zero !== undefined || prompts.some(({ type }) => type === 'tokens')
  if (isNeeded && (wire.n ?? 1) > maxEchoChoices) {
    const message = `n ${wire.n} with echo of the prompt's tokens repeats them for every choice: send at most ${maxEchoChoices}`
    throw new AppError('invalid-request', message, { param: 'n' })
  }
  if (isNeeded && prompts.some(({ type }) => type === 'infill')) {
    throw unsupported(
      'echo',
      'with suffix and logprobs, or with suffix and nothing to generate: the model reads the suffix first',
    )
  }
  return isNeeded
}

function textOf(prompt: Prompt): string {
  switch (prompt.type) {
    case 'text':
      return prompt.text
    case 'infill':
      return prompt.prefix
    case 'tokens':
    case 'chat':
      throw new Error(`a prompt of type '${prompt.type}' has no text to echo`)
  }
}

function unsupported(param: string, reason: string): AppError {
  return new AppError('unsupported-field', `${param} is not supported ${reason}`, { param })
}
