import { type DecodedCompletion, decodeCompletion } from '../openai-completions/decode.ts'
import { checkFields, indexFields } from '../wire/field-table.ts'
import { looseObject } from '../wire/first-fault.ts'
import { validate } from '../wire/validate.ts'
import { anyNumber, flag, limitFrom, nonEmptyText, text } from '../wire/wire-types.ts'
import { ownFields } from './fields.ts'

const ownSchema = looseObject({
  model: nonEmptyText,
  prompt: text,
  max_length: limitFrom(1).nullish(),
  memory: text,
  singleline: flag,
  use_default_badwordsids: flag,
  genkey: text,
  max_context_length: anyNumber,
  use_story: flag,
  use_memory: flag,
  use_authors_note: flag,
  use_world_info: flag,
  gui_settings: flag,
  quiet: flag,
})
const ownIndex = indexFields(ownFields)
const ownNames = ['memory', 'singleline', 'use_default_badwordsids', 'max_length', 'stop_sequence', ...ownIndex.keys()]
/** KoboldAI's. */
const defaultLength = 100

/** A body of KoboldAI's `generate`, read as a completion. Throws as `decodeCompletion`. */
export function decodeKobold(body: unknown, id: string): Pick<DecodedCompletion, 'requests' | 'ignored' | 'nameOf'> {
  const wire = validate(ownSchema, body, ownIndex)
  checkFields(ownIndex, Object.fromEntries(Object.entries(wire).filter(([name]) => ownIndex.has(name))))
  const { memory, singleline, use_default_badwordsids: ignoresEnd, max_length, ...given } = wire
  const stops = [wire.stop_sequence ?? []].flat()
  const rest = Object.fromEntries(Object.entries(given).filter(([name]) => !ownNames.includes(name)))
  const { requests, ignored, nameOf } = decodeCompletion(
    {
      ...rest,
      prompt: `${memory ?? ''}${wire.prompt ?? ''}`,
      max_length: max_length ?? defaultLength,
      stop_sequence: singleline === true ? [...stops, '\n'] : stops,
      ...(ignoresEnd === true && { ignore_eos: true }),
    },
    id,
  )
  // Its callers write the template's part themselves.
  const [request] = requests
  const { prompt } = request
  const whole = prompt.type === 'text' ? { ...request, prompt: { ...prompt, readsControlTokens: true as const } } : request
  return { requests: [whole], ignored, nameOf }
}
