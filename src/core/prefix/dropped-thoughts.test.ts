import { expect, test } from 'vitest'
import { readLlamaTemplates } from '../../../test/support/llama/llama-templates.ts'
import { assistant, call, reasoning, text } from '../../../test/support/parts.ts'
import { type Message, plainChat } from '../../contract/request.ts'
import { compileChatTemplate } from '../../model-text/template/chat-template.ts'
import { findDropped, mayDropThoughts, namesThoughts, type RenderPrompt } from './dropped-thoughts.ts'

const user = (words: string): Message => ({ role: 'user', content: [text(words)] })
const result: Message = { role: 'tool', toolCallId: 'call00001', name: 'read', content: [text('The tide is high.')] }
const thought = 'The user asks for the tide, which I have to read.'
const told: readonly Message[] = [
  user('How is the tide?'),
  assistant(reasoning(thought), call('call00001', 'read', '{"harbour":"Brest"}')),
  result,
]
const now: readonly Message[] = [...told, assistant(text('It is high.')), user('And tomorrow?')]
const tools = [{ name: 'read', parameters: { type: 'object', properties: { harbour: { type: 'string' } } } }]
const templates = [...(readLlamaTemplates() ?? [])]

/** Whether a template prints the thought for the turn before, and no more for this one. */
function isDropped(source: string): boolean | undefined {
  const template = compileChatTemplate(source, {})
  const isShown = (messages: readonly Message[]) =>
    template.render({ type: 'chat', ...plainChat, messages, tools }).text.includes(thought)
  try {
    return isShown(told) && !isShown(now)
  } catch {
    return undefined
  }
}

test('of the templates in llama.cpp, those are named that print thoughts until the next question', async () => {
  const dropping: string[] = []
  for (const [name, source] of templates) {
    const expected = isDropped(source)
    if (expected === undefined) continue
    const template = compileChatTemplate(source, {})
    const render: RenderPrompt = async ({ prompt, ...options }) => template.render(prompt, options).text
    const continued = { request: { prompt: { type: 'chat' as const, ...plainChat, messages: now, tools } }, before: told.length }
    expect(mayDropThoughts(continued)).toBe(true)
    const found = namesThoughts.test(source) ? await findDropped({ ...continued, template: source }, render) : undefined
    const dropped = { at: ['prompt', 'messages', 1, 'parts', 0], part: 'reasoning', kind: 'dropped' }
    if (expected) expect([name, found]).toMatchObject([name, dropped])
    else expect([name, found]).toEqual([name, undefined])
    if (expected) dropping.push(name)
  }
  expect(dropping.length).toBeGreaterThan(10)
  expect(dropping).toContain('Qwen-Qwen3-0.6B.jinja')
  expect(dropping).toContain('openai-gpt-oss-120b.jinja')
})
