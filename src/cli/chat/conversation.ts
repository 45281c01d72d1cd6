import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { AppError } from '../../contract/errors.ts'
import type { ChatBody, ChatContent, ChatMessage } from '../servers/client.ts'
import { type ChatSettings, changeSetting, describeSettings } from './chat-settings.ts'

const content = z.union([z.string(), z.array(z.looseObject({ type: z.string() }))])
const savedSchema = z.looseObject({
  messages: z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content })),
})

/** The messages so far, and the requests made from them: pure, without a server or a file. */
export class Conversation {
  #system: string | undefined
  #settings: ChatSettings = {}
  #messages: ChatMessage[] = []
  /** The user's newest message, even without an answer. */
  #last: ChatContent | undefined

  get system(): string | undefined {
    return this.#system
  }

  /** Empty: removes it. */
  set system(text: string) {
    this.#system = text === '' ? undefined : text
  }

  set(name: string, value: string): void {
    this.#settings = changeSetting(this.#settings, name, value)
  }

  describe(): string {
    const system = this.#system === undefined ? [] : [`system  ${JSON.stringify(this.#system)}`]
    return [...system, describeSettings(this.#settings)].join('\n')
  }

  /** The body of a question. It joins the conversation with its answer. */
  ask(model: string, question: ChatContent): ChatBody {
    this.#last = question
    return { model, ...this.#settings, messages: [...this.#withSystem(), { role: 'user', content: question }] }
  }

  /** An answer that was stopped before it began does not join the conversation, nor does its question. */
  answered(text: string): void {
    if (this.#last === undefined || text === '') return
    this.#messages.push({ role: 'user', content: this.#last }, { role: 'assistant', content: text })
  }

  /** Takes the newest question back, to ask it again; undefined without one. */
  retake(): ChatContent | undefined {
    if (this.#messages.at(-2)?.content === this.#last) this.#messages.splice(-2)
    return this.#last
  }

  clear(): void {
    this.#messages = []
    this.#last = undefined
  }

  /** The body of a chat completion, which other programs can send. */
  save(model: string): string {
    return `${JSON.stringify({ model, ...this.#settings, messages: this.#withSystem() }, null, 2)}\n`
  }

  /** Replaces the conversation by a saved one, and returns its number of messages. Throws `invalid-request`. */
  load(text: string): number {
    const { messages, settings } = readSaved(text)
    const [first, ...others] = messages
    const hasSystem = first?.role === 'system'
    this.#system = hasSystem && typeof first.content === 'string' ? first.content : undefined
    this.#messages = hasSystem ? others : messages
    this.#settings = settings
    this.#last = this.#messages.findLast(({ role }) => role === 'user')?.content
    return this.#messages.length
  }

  #withSystem(): ChatMessage[] {
    return [...(this.#system === undefined ? [] : [{ role: 'system' as const, content: this.#system }]), ...this.#messages]
  }
}

function readSaved(text: string): { messages: ChatMessage[]; settings: ChatSettings } {
  const saved = savedSchema.safeParse(parseJson(text))
  if (!saved.success) throw new AppError('invalid-request', 'it is not a conversation that /save wrote')
  const { messages, model: _, ...fields } = saved.data
  let settings: ChatSettings = {}
  for (const [name, value] of Object.entries(fields)) {
    settings = changeSetting(settings, name, String(Array.isArray(value) ? value[0] : value))
  }
  return { messages: messages as ChatMessage[], settings }
}
