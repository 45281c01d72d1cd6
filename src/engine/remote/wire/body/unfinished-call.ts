import { isObject, parseJson } from '../../../../base/json.ts'
import type { GenerationRequest, ToolCallPart } from '../../../../contract/request.ts'

/** Stands where the model continues; it needs no escapes in any format. */
const mark = 'dragomanGoesOnHere'

type ChatPrompt = Extract<GenerationRequest['prompt'], { type: 'chat' }>

/** Whether the last turn ends in a call. */
export function endsInCall({ messages }: ChatPrompt): boolean {
  const last = messages.at(-1)
  return last?.role === 'assistant' && last.parts.at(-1)?.type === 'tool-call'
}

/**
 * The text of a conversation up to the end of its last call, whose arguments are not complete. Undefined if the template hides the call, or
 * if it doesn't show where such arguments end. `render` writes a conversation without a new turn.
 */
export async function textOfUnfinished(
  prompt: ChatPrompt,
  render: (prompt: ChatPrompt) => Promise<string>,
): Promise<string | undefined> {
  const written = prompt.messages.at(-1)
  const call = written?.role === 'assistant' ? written.parts.at(-1) : undefined
  if (written?.role !== 'assistant' || call?.type !== 'tool-call') return undefined
  const textWith = (input: string) => {
    const changed: ToolCallPart = { ...call, input }
    const messages = [...prompt.messages.slice(0, -1), { ...written, parts: [...written.parts.slice(0, -1), changed] }]
    return render({ ...prompt, messages, start: 'bare' })
  }
  const upToMark = async (input: string) => {
    const text = await textWith(input)
    const at = text.indexOf(mark)
    return at < 0 ? undefined : text.slice(0, at)
  }
  const asJson = await upToMark(JSON.stringify({ [mark]: 1 }))
  const opening = asJson?.match(/\{\s*"$/)
  if (asJson !== undefined && opening?.index !== undefined) return asJson.slice(0, opening.index) + call.input
  const { value, member, closed } = markedArguments(call.input === '' ? '{' : call.input)
  if (value !== undefined) return upToMark(value)
  if (member === undefined || closed === undefined) return undefined
  // Between two arguments: before the next one, or the end.
  const shared = sharedStart(await textWith(member), await textWith(closed))
  return shared.replace(/<[/|]?$/, '')
}

const nothing = { value: undefined, member: undefined, closed: undefined }

/**
 * Complete JSON of arguments that are cut off after a bracket, a colon, or a value, or in a string: with the mark as the value, or the end
 * of it; else with the mark as a further member, and without.
 */
function markedArguments(json: string): Record<'value' | 'member' | 'closed', string | undefined> {
  const closers: string[] = []
  let inString = false
  for (const [token] of json.matchAll(/\\.?|["{}[\]]/gs)) {
    if (token === '"') inString = !inString
    else if (inString && token === '\\') return nothing
    else if (!inString && (token === '{' || token === '[')) closers.unshift(token === '{' ? '}' : ']')
    else if (!inString) closers.shift()
  }
  const ending = (text: string) => {
    const whole = json + text + closers.join('')
    return isObject(parseJson(whole)) ? whole : undefined
  }
  const value = ending(inString ? `${mark}"` : `"${mark}"`)
  const isWhole = closers.length === 0 && json.endsWith('}')
  const member = isWhole ? withMark(json) : (ending(`"${mark}": 1`) ?? ending(`, "${mark}": 1`))
  return { value, member, closed: ending('') }
}

function withMark(json: string): string {
  return JSON.stringify({ ...(parseJson(json) as object), [mark]: 1 })
}

export function sharedStart(one: string, other: string): string {
  let at = 0
  while (at < one.length && one[at] === other[at]) at += 1
  return one.slice(0, at)
}
