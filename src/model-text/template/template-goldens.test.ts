import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readLlamaTemplates } from '../../../test/support/llama/llama-templates.ts'
import { assistant, call, reasoning, text } from '../../../test/support/parts.ts'
import { type Message, plainChat } from '../../contract/request.ts'
import { recogniseReasoning } from '../formats/recognise-reasoning.ts'
import { type ChatTemplate, compileChatTemplate } from './chat-template.ts'

const vectors = new URL('../../../../shared/vectors/', import.meta.url)
const templates = existsSync(vectors) ? readLlamaTemplates() : undefined

type ChatCase = {
  template: string
  messages: {
    role: string
    content: string
    reasoning_content: string
    tool_call_id: string
    tool_calls: { id: string; name: string; arguments: string }[]
  }[]
  tools: { name: string; description: string; parameters_json: string }[]
  enable_thinking: boolean
  add_generation_prompt: boolean
  continue_final_message: number
  rendered_prompt: string
}

function readLines<T>(path: string): T[] {
  const lines = readFileSync(new URL(path, vectors), 'utf8').trim().split('\n')
  return lines.map((line) => JSON.parse(line) as T)
}

/** Compiles each template once. */
function compileAll<T>(compile: (source: string) => T): (name: string) => T {
  const compiled = new Map<string, T>()
  return (name) => {
    const template = compiled.get(name) ?? compile(templates?.get(name) ?? '')
    compiled.set(name, template)
    return template
  }
}

describe.skipIf(templates === undefined)('the template goldens', () => {
  const withTokens = compileAll((source) => compileChatTemplate(source, { bos: '<s>', eos: '</s>' }))

  test("the prompts of llama.cpp's own chat tests are matched", () => {
    const template = compileAll((source): ChatTemplate => compileChatTemplate(source, {}))
    const cases = readLines<ChatCase>('tool-calls/chat-parse.jsonl')
    const differing = cases.filter((chat) => renderChat(template, chat) !== undate(chat.rendered_prompt))
    expect(differing.map((chat) => chat.template)).toEqual([])
    expect(cases).toHaveLength(137)
  })

  test.each([
    { name: 'its text', words: 'Answer' },
    { name: 'its reasoning', words: '' },
  ])('a message with reasoning is continued at the end of $name as each template writes it', ({ words }) => {
    const messages: Message[] = [
      { role: 'user', content: [text('Question')] },
      assistant(reasoning('Thought'), ...(words === '' ? [] : [text(words)])),
    ]
    let shown = 0
    for (const [name, source] of templates ?? []) {
      const template = withTokens(name)
      const render = (start: 'bare' | 'last-message') => {
        const prompt = { type: 'chat', ...plainChat, messages, start } as const
        return template.render(prompt, { reasoning: { enabled: true } }).text
      }
      // Ministral refuses a turn without text; its reasoning can be continued all the same.
      const own = name.includes('Ministral') && words === '' ? '' : undate(render('bare'))
      // Some of these templates drop the reasoning of earlier turns; SmolLM3 has the word in its instructions.
      if (!own.includes('Thought') || name.includes('SmolLM3')) {
        if (words !== '' || recogniseReasoning(source) !== undefined) render('last-message')
        continue
      }
      shown += 1
      const end = words === '' ? own.lastIndexOf('Thought') + 'Thought'.length : own.lastIndexOf(words) + words.length
      expect(undate(render('last-message')), name).toBe(own.slice(0, end))
    }
    expect(shown).toBeGreaterThan(25)
  })
})

function renderChat(template: (name: string) => ChatTemplate, chat: ChatCase): string {
  const messages = chat.messages.map(({ role, content, reasoning_content: thought, tool_calls: calls, ...rest }): Message => {
    const parts = [text(content)]
    if (role === 'assistant') {
      const called = calls.map(({ id, name, arguments: json }) => call(id, name, json))
      return assistant(...(thought === '' ? [] : [reasoning(thought)]), ...parts, ...called)
    }
    if (role === 'tool') return { role, content: parts, toolCallId: rest.tool_call_id }
    return { role: role as 'user', content: parts }
  })
  const tools = chat.tools.map(({ name, description, parameters_json: json }) => ({
    name,
    description,
    parameters: JSON.parse(json),
  }))
  // llama.cpp tells templates of Llama 3 the day; in `transformers` they show the one that is written in them.
  const templateVariables = { date_string: 'TODAY' }
  const start = chat.continue_final_message !== 0 ? 'last-message' : chat.add_generation_prompt ? 'new-turn' : 'bare'
  const compiled = template(chat.template.slice(chat.template.lastIndexOf('/') + 1))
  // Tools that a template does not show are described in the system message (describe-tools.test.ts).
  const shown = compiled.traits.tools ? tools : []
  const prompt = { type: 'chat', ...plainChat, messages, tools: shown, templateVariables, start } as const
  return undate(compiled.render(prompt, { reasoning: { enabled: chat.enable_thinking } }).text)
}

/** Without the day on which a prompt was rendered. */
function undate(text: string): string {
  return text.replace(/(Date: )\d\d \w{3} \d{4}/g, '$1TODAY').replace(/(Current date: )\d{4}-\d\d-\d\d/g, '$1TODAY')
}
