import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { readLlamaTemplates } from '../../../test/support/llama/llama-templates.ts'
import { assistant, call, reasoning, text } from '../../../test/support/parts.ts'
import { type Message, plainChat } from '../../contract/request.ts'
import { recogniseReasoning } from '../formats/recognise-reasoning.ts'
import { ferry, type History, histories, thoughtfulLoop } from './__fixtures__/histories.ts'
import { oddSchemas } from './__fixtures__/odd-schemas.ts'
import { follows, refuse, template } from './__fixtures__/trait-conversations.ts'
import { type ChatTemplate, compileChatTemplate } from './chat-template.ts'

/** The chat templates in llama.cpp's sources, which node-llama-cpp brings. */
const templates = [...(readLlamaTemplates() ?? [])]
if (templates.length === 0) console.warn('real chat templates are not rendered: node-llama-cpp is not installed')

/** gpt-oss reads a text beside calls as thought, which it forgets. */
const forgets = (name: string) => (name.startsWith('openai-gpt-oss') ? /Pre\d/ : undefined)

const compiledBy = new Map<string, ChatTemplate>()

function compile(name: string, source: string): ChatTemplate {
  const compiled = compiledBy.get(name) ?? compileChatTemplate(source, { bos: '<s>', eos: '</s>' })
  compiledBy.set(name, compiled)
  return compiled
}

function render(compiled: ChatTemplate, { messages, tools = [], start = 'new-turn' }: Omit<History, 'name'>): string {
  return compiled.render({ type: 'chat', ...plainChat, messages, tools, start }).text
}

/** All words of these kinds in a conversation, in its order. */
function wordsOf(messages: readonly Message[], kinds: string): readonly string[] {
  return JSON.stringify(messages).match(new RegExp(`(?:${kinds})\\d`, 'g')) ?? []
}

/** What is wrong with a prompt; undefined if it has all words once, and those of the user, the system and tools in order. */
function fault(prompt: string, { messages }: History, forgotten: RegExp | undefined): string | undefined {
  const words = wordsOf(messages, 'Sys|Usr|Ans|Pre|Val|Res').filter((word) => forgotten?.test(word) !== true)
  const wrong = words.find((word) => prompt.split(word).length !== 2)
  if (wrong !== undefined) return `${wrong} is there ${prompt.split(wrong).length - 1} times`
  const asked = wordsOf(messages, 'Sys|Usr|Res')
  const shown = prompt.match(/(?:Sys|Usr|Res)\d/g) ?? []
  if (shown.join() !== asked.join()) return `in another order: ${shown.join()}`
  const isCalled = messages.some(
    (message) => message.role === 'assistant' && message.parts.some(({ type }) => type === 'tool-call'),
  )
  return isCalled && !prompt.includes(ferry.name) ? 'the call has no name' : undefined
}

describe.skipIf(templates.length === 0)('a template of llama.cpp', () => {
  test.each(templates)('%s renders what clients send, and loses nothing of it', (name, source) => {
    const compiled = compile(name, source)
    const faults = histories.flatMap((history) => {
      const found = fault(render(compiled, history), history, forgets(name))
      return found === undefined ? [] : [`${history.name}: ${found}`]
    })
    expect(faults).toEqual([])
  })

  test.each(templates)('%s renders a healed conversation as the given one, and heals it no further', (name, source) => {
    const compiled = compile(name, source)
    const faults = histories.flatMap((history) => {
      const { messages, tools = [], start = 'new-turn' } = history
      const healed = compiled.heal({ type: 'chat', ...plainChat, messages, tools, start })
      const isFixed = isDeepStrictEqual(compiled.heal(healed), healed)
      // Tools that the template does not show are described in a message.
      const isDescribed = tools.length > 0 && !compiled.traits.tools
      const isSame = isDescribed || compiled.render(healed).text === render(compiled, history)
      return isFixed && isSame ? [] : [history.name]
    })
    expect(faults).toEqual([])
  })

  test.each(templates)('%s shows any tool, with the names of all its parameters', (name, source) => {
    const compiled = compile(name, source)
    const faults = oddSchemas.flatMap((parameters) => {
      const tool = { name: 'find_boat', description: 'Finds one.', ...(parameters !== undefined && { parameters }) }
      const prompt = render(compiled, { messages: [{ role: 'user', content: [text('Usr1')] }], tools: [tool] })
      const names = [tool.name, 'Finds one.', 'Usr1', ...(JSON.stringify(parameters ?? {}).match(/\w+_port/g) ?? [])]
      const missing = names.filter((each) => !prompt.includes(each))
      return missing.length === 0 ? [] : [`${JSON.stringify(parameters)} lacks ${missing.join()}`]
    })
    expect(faults).toEqual([])
  })

  test.each(templates)('%s shows the reasoning of a tool loop once, if it shows any there', (name, source) => {
    const compiled = compile(name, source)
    const prompt = { type: 'chat', ...plainChat, messages: thoughtfulLoop, tools: [ferry] } as const
    const rendered = compiled.render(prompt, { reasoning: { enabled: true } }).text
    // Apriel shows that of an answer at the end only.
    const isShown = compiled.traits.reasoningField !== undefined && !name.startsWith('Apriel')
    const expected = isShown ? /^Tho1,Tho2$/ : /^(Tho1,Tho2)?$/
    expect((rendered.match(/Tho\d/g) ?? []).join()).toMatch(expected)
    if (name.includes('Ministral')) expect(rendered).toContain('[THINK]Tho1[/THINK]')
  })
})

test.skipIf(templates.length === 0)('reasoning alone is continued where a model reasons, and refused elsewhere', () => {
  const messages: Message[] = [{ role: 'user', content: [text('Usr1')] }, assistant(reasoning('Tho1'))]
  for (const [name, source] of templates) {
    const continueIt = () => {
      const prompt = { type: 'chat', ...plainChat, messages, start: 'last-message' } as const
      return compile(name, source).render(prompt, { reasoning: { enabled: true } })
    }
    if (recogniseReasoning(source) === undefined) expect(continueIt, name).toThrow('has only reasoning')
    else expect(continueIt(), name).toMatchObject({ text: expect.stringMatching(/Usr1[\s\S]*Tho1$/), startsInReasoning: true })
  }
})

describe('what a template refuses', () => {
  const user = (words: string): Message => ({ role: 'user', content: [text(words)] })
  const system: Message = { role: 'system', content: [text('s')] }
  const result = (id: string, words: string): Message => ({ role: 'tool', toolCallId: id, content: [text(words)] })
  const userFirst = refuse("m.role == 'assistant' and (loop.first or loop.previtem.role == 'system')", 'user first')
  const filled = refuse("m.role == 'assistant' and not m.content and not m.tool_calls and not m.reasoning_content", 'empty')
  const objects =
    '{% for c in m.tool_calls or [] %}{% for k, v in c.function.arguments.items() %}{{ k }}={{ v }};{% endfor %}{% endfor %}'
  const named = "{% if m.role == 'tool' %}{{ '<' + m.name + '>' }}{% endif %}{{ m.content }}"
  const alone = refuse('m.reasoning_content and m.content', 'not both')

  test.each<{ name: string; source: string; messages: Message[]; prompt: string }>([
    {
      name: 'an answer in front gets an empty question in front of it',
      source: template({ guard: userFirst }),
      messages: [system, assistant(text('a')), user('q')],
      prompt: '<system>s<user><assistant>a<user>q<assistant>',
    },
    {
      name: 'a conversation without a question gets an empty one',
      source: template({ guard: refuse("not messages | selectattr('role', 'equalto', 'user') | list", 'no query') }),
      messages: [system, assistant(call('c', 'f', '{}')), result('c', 'r')],
      prompt: '<system>s<user><assistant><f>{}<tool>r<assistant>',
    },
    {
      name: 'a result in tags, which is all that the user says, gets an empty question in front of it',
      source: template({
        guard: refuse(
          "loop.first and not messages | rejectattr('content', 'in', ['<r>1</r>']) | selectattr('role', 'equalto', 'user') | list",
          'no query',
        ),
      }),
      messages: [user('<r>1</r>'), assistant(text('a')), user('<r>1</r>')],
      prompt: '<user><user><r>1</r><assistant>a<user><r>1</r><assistant>',
    },
    {
      name: 'an empty answer is left out',
      source: template({ guard: filled }),
      messages: [user('q'), assistant(), user('p'), assistant(reasoning('t'))],
      prompt: '<user>q<user>p<assistant><r>t</r><assistant>',
    },
    {
      name: 'an empty answer is left out, and the questions around it become one where turns alternate',
      source: template({ guard: filled + refuse(follows('user', 'user'), 'alternate') }),
      messages: [user('q'), assistant(text('')), user('p')],
      prompt: '<user>q\n\np<assistant>',
    },
    {
      name: 'both at once',
      source: template({ guard: filled + userFirst }),
      messages: [assistant(text('')), assistant(text('a')), user('q')],
      prompt: '<user><assistant>a<user>q<assistant>',
    },
    {
      name: 'arguments that are no object are put into one',
      source: template({ calls: `${objects}{{ m.tool_calls[0].function.arguments | tojson if m.tool_calls }}` }),
      messages: [user('q'), assistant(call('c', 'f', '[1]')), result('c', 'r')],
      prompt: '<user>q<assistant>input=[1];{"input": "[1]"}<tool>r<assistant>',
    },
    {
      name: 'a result of another id gets the name of the call at its place',
      source: template({ content: named }),
      messages: [user('q'), assistant(call('c', 'f', '{}'), call('d', 'g', '{}')), result('x', 'r'), result('y', 's')],
      prompt: '<user>q<assistant><f>{}<g>{}<tool><f>r<tool><g>s<assistant>',
    },
    {
      name: 'reasoning beside an answer is left out last',
      source: template({ guard: userFirst + alone }),
      messages: [assistant(reasoning('t'), text('a')), user('q')],
      prompt: '<user><assistant>a<user>q<assistant>',
    },
  ])('$name', ({ source, messages, prompt }) => {
    expect(render(compileChatTemplate(source, {}), { messages })).toBe(prompt)
  })

  test('stays refused, in its own words, where nothing helps', () => {
    const compiled = compileChatTemplate(template({ guard: refuse("'bad' in m.content", 'mind your words') }), {})
    expect(() => render(compiled, { messages: [assistant(), user('bad')] })).toThrow('mind your words')
  })
})
