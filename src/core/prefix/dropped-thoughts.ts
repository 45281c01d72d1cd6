import { listedTools } from '../../canonical/callable-tools.ts'
import type { Message, OutputPart } from '../../contract/request.ts'
import { excerpt } from './compare-texts.ts'
import type { Found } from './find-change.ts'
import type { PromptOf } from './outline.ts'

/** The text of a conversation by a chat template. Rejects for one that the template refuses. */
export type RenderPrompt = (request: PromptOf, template: string) => Promise<string>

/** A conversation whose earlier turn had this many messages. */
type Continued = { readonly request: PromptOf; readonly before: number }

/** Templates without them print no thoughts. */
export const namesThoughts = /reason|think|thought|analysis/

/** Whether a template may print thoughts of the earlier turn no more: those of its last question, once another one follows. */
export function mayDropThoughts({ request: { prompt }, before }: Continued): boolean {
  const { messages } = prompt
  const lastQuestion = messages.slice(0, before).findLastIndex(isQuestion)
  return (
    messages.slice(lastQuestion + 1, before).some((message) => thoughtIn(message) !== -1) &&
    messages.slice(before).some(isQuestion)
  )
}

/** The first thoughts that the template printed for the earlier turn, and prints no more. Undefined: none, or the template fails. */
export async function findDropped(
  { request, before, template }: Continued & { readonly template: string },
  render: RenderPrompt,
): Promise<Found | undefined> {
  const { prompt } = request
  const { messages } = prompt
  const short = messages.map(shortened)
  // Some templates keep thoughts where there are tools.
  const tools = listedTools(prompt.tools).map(({ name }) => ({ name, parameters: noArguments }))
  const textOf = (shown: readonly Message[]) =>
    render({ ...request, prompt: { ...prompt, messages: shown, tools, start: 'new-turn', responsePrefix: '' } }, template)
  const texts = await Promise.all([textOf(short.slice(0, before)), textOf(short)]).catch(() => undefined)
  if (texts === undefined) return undefined
  const [then, now] = texts
  const index = short.findIndex((_, at) => then.includes(markOf(at)) && !now.includes(markOf(at)))
  const message = messages[index]
  const part = message === undefined ? -1 : thoughtIn(message)
  if (message?.role !== 'assistant' || part === -1) return undefined
  const thought = message.parts[part]
  return {
    at: ['prompt', 'messages', index, 'parts', part],
    part: 'reasoning',
    kind: 'dropped',
    texts: excerpt(thought?.type === 'reasoning' ? thought.text : '', ''),
  }
}

const noArguments = { type: 'object', properties: {} }

const isQuestion = ({ role }: Message) => role !== 'assistant' && role !== 'tool'
const isThought = (part: OutputPart) => part.type === 'reasoning' && part.text.trim() !== ''
const thoughtIn = (message: Message) => (message.role === 'assistant' ? message.parts.findIndex(isThought) : -1)
const markOf = (index: number) => `thought ${index}.`

/** The form of a message, with texts that cost nothing and thoughts that can be found. */
function shortened(message: Message, index: number): Message {
  if (message.role !== 'assistant') return { ...message, content: [{ type: 'text', text: `${message.role} ${index}` }] }
  const parts = message.parts.flatMap((part): readonly OutputPart[] => {
    if (part.type === 'tool-call') return [{ type: part.type, id: part.id, name: part.name, input: '{}' }]
    if (part.type === 'reasoning') return isThought(part) ? [{ ...part, text: markOf(index) }] : []
    return part.type === 'text' ? [{ type: 'text', text: `answer ${index}` }] : []
  })
  return { ...message, parts }
}
