import { AppError } from '../../contract/errors.ts'
import { nearestName } from '../../registry/names/near-name.ts'

/** The settings of `/set`: fields of a chat completion's body. */
export type ChatSettings = Readonly<Record<string, number | string | readonly string[]>>

const numbers: ReadonlySet<string> = new Set([
  ...['temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty', 'presence_penalty', 'frequency_penalty'],
  ...['max_tokens', 'seed'],
])

/** The fields that a user may set, by their names in a request. */
const settingNames: readonly string[] = [...numbers, 'stop', 'reasoning_effort']

/** Changes a setting, or removes it without a value. Throws `invalid-request`; the server checks ranges. */
export function changeSetting(settings: ChatSettings, typedName: string, value: string): ChatSettings {
  const name = typedName.toLowerCase().replaceAll('-', '_')
  if (!settingNames.includes(name)) {
    const nearest = nearestName(name, settingNames)
    const advice = nearest === undefined ? `/set takes: system, ${settingNames.join(', ')}` : `did you mean '${nearest}'?`
    throw new AppError('invalid-request', `there is no setting '${typedName}'; ${advice}`)
  }
  const { [name]: _, ...others } = settings
  return value === '' ? others : { ...others, [name]: readValue(name, value) }
}

/** The settings, one per line. */
export function describeSettings(settings: ChatSettings): string {
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name}  ${typeof value === 'number' ? value : JSON.stringify(value)}`,
  )
  return lines.length === 0 ? `nothing is set; /set takes: system, ${settingNames.join(', ')}` : lines.join('\n')
}

function readValue(name: string, text: string): number | string | readonly string[] {
  if (name === 'stop') return [text]
  if (!numbers.has(name)) return text
  const number = Number(text)
  if (Number.isFinite(number)) return number
  throw new AppError('invalid-request', `${name} is a number, not '${text}'`)
}
