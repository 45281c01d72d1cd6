import { z } from 'zod'
import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import { pickSpelling, spellingsOf } from '../openai/spelling.ts'
import { type DecodedCompletion, decodeCompletion } from '../openai-completions/decode.ts'
import { completionRequestSchema } from '../openai-completions/schema.ts'
import { spellings } from '../wire/field-table.ts'
import { list, looseObject } from '../wire/first-fault.ts'
import { bodyReader } from '../wire/validate.ts'
import { anyNumber, flag, text } from '../wire/wire-types.ts'
import { absentFields, koboldFields, ownFields } from './fields.ts'

const {
  stream: _,
  stream_options: __,
  timings_per_token: _______,
  return_progress: ________,
  echo: ___,
  suffix: ____,
  prompt_logprobs: _________,
  ...shared
} = completionRequestSchema.shape

/** The body of `generate`. */
export const koboldSchema = looseObject({
  ...shared,
  // KoboldCpp bans phrases.
  banned_tokens: z.union([list(z.string(), { error: 'an array of strings' }), shared.banned_tokens]),
  n_probs: shared.logprobs,
  prompt: text,
  memory: text,
  singleline: flag,
  use_default_badwordsids: flag,
  max_context_length: anyNumber,
  rep_pen_slope: anyNumber,
  use_story: flag,
  use_memory: flag,
  use_authors_note: flag,
  use_world_info: flag,
  gui_settings: flag,
  quiet: flag,
  render_special: flag,
  replace_instruct_placeholders: flag,
})
const readBody = bodyReader(koboldSchema, koboldFields)
const readHere = new Set([...ownFields.flatMap(spellings), ...absentFields])
/** KoboldAI's default. */
export const defaultLength = 100
/** As many as KoboldCpp reports. */
const topLogprobs = 5

const turns = { user: '{{[INPUT]}}', userEnd: '{{[INPUT_END]}}', assistant: '{{[OUTPUT]}}', assistantEnd: '{{[OUTPUT_END]}}' }
/** Its text would depend on what the system says, which stands in the prompt. */
const systemTurn = '{{[SYSTEM'

function decodeBans({ banned_tokens, custom_token_bans, banned_strings }: z.output<typeof koboldSchema>): object {
  const isPhrases = Array.isArray(banned_tokens) && typeof banned_tokens[0] === 'string'
  if (!isPhrases) return { banned_tokens, custom_token_bans }
  return { custom_token_bans, banned_strings: [...[banned_strings ?? []].flat(), ...banned_tokens] }
}

/** A body of KoboldAI's `generate`, read as a completion. Throws as `decodeCompletion`. */
export function decodeKobold(body: unknown, id: string): Pick<DecodedCompletion, 'requests' | 'ignored' | 'nameOf'> {
  const { wire, ignored: unknown } = readBody(body)
  const given = Object.fromEntries(Object.entries(wire).filter(([name, value]) => !readHere.has(name) && value !== null))
  const top = pickSpelling(wire, ['logprobs', 'n_probs'])
  const { requests, ignored, nameOf } = decodeCompletion(
    {
      ...given,
      ...decodeBans(wire),
      logprobs: top === true ? topLogprobs : top === 0 || top === false ? undefined : top,
      n_probs: undefined,
      prompt: `${wire.memory ?? ''}${wire.prompt ?? ''}`,
      ...(spellingsOf.limit.every((name) => given[name] === undefined) && { max_length: defaultLength }),
      ...(wire.singleline === true && { stop_sequence: [given.stop_sequence ?? []].flat().concat('\n') }),
      ...(wire.use_default_badwordsids === true && { ignore_eos: true }),
      ...(wire.render_special === true && { skip_special_tokens: false }),
    },
    id,
  )
  return {
    requests: wire.replace_instruct_placeholders === true ? [withTurns(requests[0])] : requests,
    ignored: [...new Set([...unknown, ...ignored])],
    nameOf: (path) => {
      if (path[0] === 'prompt' && path[1] === 'turns') return 'replace_instruct_placeholders'
      return path[0] === 'showsSpecialTokens' && wire.render_special === true ? 'render_special' : nameOf(path)
    },
  }
}

/** The request, whose placeholders are replaced by what the chat template writes; unchanged if it has none. */
function withTurns(request: GenerationRequest): GenerationRequest {
  const { prompt, stop } = request
  if (prompt.type !== 'text') return request
  const texts = [prompt.text, ...stop]
  if (texts.some((text) => text.includes(systemTurn))) {
    const message = `replace_instruct_placeholders true with ${systemTurn}]}}: only turns of the user and of the model are replaced; write the system prompt before the first ${turns.user}`
    throw new AppError('unsupported-field', message, { param: 'replace_instruct_placeholders' })
  }
  const hasTurns = texts.some((text) => Object.values(turns).some((turn) => text.includes(turn)))
  return hasTurns ? { ...request, prompt: { ...prompt, turns } } : request
}
