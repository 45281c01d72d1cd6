import { describe, expect, test } from 'vitest'
import { createMatcher } from '../../../../../test/support/llama/gbnf-matcher.ts'
import { text } from '../../../../../test/support/parts.ts'
import {
  type FunctionTool,
  type GenerationRequest,
  plainChat,
  plainRequest,
  type ToolChoice,
} from '../../../../contract/request.ts'
import { compileOutput } from '../../../../grammar/compile-output.ts'
import { gbnfKeyword } from '../../../../grammar/rules/gbnf-text.ts'
import { type ProfileName, profileNames } from '../../servers/profile.ts'
import { profiles } from '../../servers/profiles.ts'
import { requestBody } from './request-body.ts'

const parametersOf = (input: object) => ({
  type: 'object',
  properties: { input },
  required: ['input'],
  additionalProperties: false,
})
/** What core makes of a custom tool with a grammar. */
const edit: FunctionTool = {
  name: 'edit',
  strict: true,
  parameters: parametersOf({ type: 'string' }),
  enforced: parametersOf({ type: 'string', [gbnfKeyword]: 'root ::= "secret" [0-9]+\n' }),
}

type Body = Readonly<Record<string, unknown>>

async function bodyOf(kind: ProfileName, toolChoice: ToolChoice, more: Partial<GenerationRequest> = {}) {
  const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [text('hi')] }], tools: [edit] } as const
  const request: GenerationRequest = { ...plainRequest, id: 'x', model: 'm', prompt, toolChoice, maxOutputTokens: 9, ...more }
  const grammars = { compile: async (wanted: Parameters<typeof compileOutput>[0]) => compileOutput(wanted) }
  return (await requestBody(request, { profile: profiles[kind], model: 'up' }, grammars)).body
}

describe('a schema that only our grammars know', () => {
  test('goes to another Dragoman, which enforces it', async () => {
    const body = await bodyOf('dragoman', { type: 'required' })
    expect(body).toMatchObject({ tools: [{ function: { strict: true, parameters: edit.enforced } }] })
  })

  test.each(profileNames.filter((kind) => kind !== 'dragoman'))('the schema is never sent to %s', async (kind) => {
    const body = JSON.stringify(await bodyOf(kind, { type: 'auto' }))
    expect(body).toContain('edit')
    expect(body).not.toContain(gbnfKeyword)
    expect(body).not.toContain('secret')
  })

  test('the schema becomes the grammar of a required call where a server takes ours', async () => {
    const body = await bodyOf('llama-server', { type: 'required' })
    expect(body).toMatchObject({ grammar: expect.stringContaining('secret') })
    expect(JSON.stringify(body)).not.toContain(gbnfKeyword)
  })
})

describe('a server that refuses a grammar beside tools', () => {
  const schema = {
    type: 'object',
    $defs: { size: { enum: ['small', 'large'] } },
    properties: { size: { $ref: '#/$defs/size' } },
    required: ['size'],
    additionalProperties: false,
  }
  const output = { type: 'json-schema', schema, strict: true } as const

  test('gets the tools in the template, and one grammar of the JSON and the calls', async () => {
    const body = await bodyOf('llama-server', { type: 'auto' }, { output })
    expect(body).toMatchObject({ chat_template_kwargs: { tools: [{ function: { name: 'edit' } }] } })
    expect(body).not.toHaveProperty('tools')
    for (const part of ['large', 'edit', 'secret']) expect(body.grammar).toContain(part)
  })

  test('gets references to the roots and the definitions of schemas that are parts of the grammar', async () => {
    const tree = {
      type: 'object',
      properties: { branches: { type: 'array', items: { $ref: '#' } } },
      required: ['branches'],
      additionalProperties: false,
    }
    const colours = {
      type: 'object',
      $defs: { colour: { enum: ['red', 'blue'] } },
      properties: { colour: { $ref: '#/$defs/colour' } },
      required: ['colour'],
    }
    const tools = [{ name: 'paint', parameters: colours }]
    const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [text('hi')] }], tools } as const
    const { grammar } = await bodyOf(
      'llama-server',
      { type: 'auto' },
      { prompt, output: { type: 'json-schema', schema: tree, strict: true } },
    )
    const matcher = createMatcher(String(grammar))
    const accepts = (value: unknown) => matcher.matches(JSON.stringify(value))
    expect(accepts({ branches: [{ branches: [] }] })).toBe(true)
    expect(accepts({ name: 'paint', arguments: { colour: 'red' } })).toBe(true)
    expect(accepts({ name: 'paint', arguments: { colour: 'green' } })).toBe(false)
    expect(accepts({ branches: [{ name: 'paint', arguments: { colour: 'red' } }] })).toBe(false)
  })

  test('gets a call or what was asked for in another form', async () => {
    const tools = [{ name: 'look' }]
    const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [text('hi')] }], tools } as const
    const grammarOf = async (output: GenerationRequest['output'], toolChoice: ToolChoice = { type: 'auto' }) => {
      const body = await bodyOf('llama-server', toolChoice, { prompt, output, ignoreEos: true })
      expect(body).not.toHaveProperty('tools')
      expect(body).not.toHaveProperty('ignore_eos')
      return createMatcher(String(body.grammar))
    }
    const call = '{"name": "look", "arguments": {}}'
    const pattern = { type: 'regex', pattern: '[ab]{2}' } as const
    expect(['ab', call].map((await grammarOf(pattern)).matches)).toEqual([true, true])
    expect(['ab', call].map((await grammarOf(pattern, { type: 'required' })).matches)).toEqual([false, true])
    const own = { type: 'gbnf', grammar: 'root ::= "yes"' } as const
    expect(['yes', call].map((await grammarOf(own)).matches)).toEqual([true, false])
  })

  test.each([
    ['vllm', ({ structured_outputs: held }: Body) => (held as Body).grammar],
    ['sglang', ({ ebnf }: Body) => ebnf],
  ] as const)(
    '%s, on which a structure leaves no room for calls, gets one grammar of both beside tools',
    async (kind, grammarOf) => {
      const tools = [{ name: 'look', strict: true }]
      const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [text('hi')] }], tools } as const
      const call = '{"name": "look", "arguments": {}}'
      const tagged = `<tool_call>\n${call}\n</tool_call>`
      const accepted = async (output: GenerationRequest['output']) => {
        const body = await bodyOf(kind, { type: 'auto' }, { prompt, output })
        expect(body).toMatchObject({ tool_choice: 'auto', tools: [{ function: { name: 'look' } }] })
        // A strict tool would end the structure.
        expect(JSON.stringify(body)).not.toMatch(/strict|response_format|"regex"/)
        return ['ab', 'yes', '{"size": "small"}', call, tagged].filter(createMatcher(String(grammarOf(body))).matches)
      }
      expect(await accepted(output)).toEqual(['{"size": "small"}', call, tagged])
      expect(await accepted({ type: 'regex', pattern: '[ab]{2}' })).toEqual(['ab', call, tagged])
      expect(await accepted({ type: 'gbnf', grammar: 'root ::= "yes"' })).toEqual(['yes'])
      const body = await bodyOf(kind, { type: 'required' }, { prompt, output })
      expect(body).toMatchObject({ tools: [{ function: { name: 'look' } }] })
      expect(JSON.stringify(body)).not.toMatch(/response_format|structured_outputs|ebnf/)
    },
  )

  test('vllm, which holds calls to strict schemas only, gets those of required calls as strict', async () => {
    const tuple = { type: 'object', properties: { at: { type: 'array', items: [{ type: 'string' }, true] } } }
    const tools = [{ name: 'look' }, { name: 'go', parameters: tuple }]
    const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [text('hi')] }], tools } as const
    const strictOf = async (kind: ProfileName, type: 'auto' | 'required') => {
      const { tools } = await bodyOf(kind, { type }, { prompt })
      return (tools as readonly { readonly function: Body }[]).map((tool) => tool.function.strict)
    }
    // Its compiler of grammars does not know the older spelling of tuples.
    expect(await strictOf('vllm', 'required')).toEqual([true, undefined])
    expect(await strictOf('vllm', 'auto')).toEqual([undefined, undefined])
    expect(await strictOf('openai', 'required')).toEqual([undefined, undefined])
  })

  test('gets the JSON alone where no tool may be called', async () => {
    const { grammar, ...body } = await bodyOf('llama-server', { type: 'none' }, { output })
    expect(grammar).toContain('large')
    expect(grammar).not.toContain('edit')
    expect(body).not.toHaveProperty('tools')
  })

  test('gets no tools as a field with log-probabilities of a required call', async () => {
    const tools = [{ name: 'look' }]
    const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [text('hi')] }], tools } as const
    const body = await bodyOf('llama-server', { type: 'required' }, { prompt, logprobs: { top: 2 } })
    expect(body).toMatchObject({ logprobs: true, grammar: expect.stringContaining('look') })
    expect(body).not.toHaveProperty('tools')
    const matcher = createMatcher(String(body.grammar))
    // A tool without parameters takes none.
    expect(matcher.matches('{"name": "look", "arguments": {}}')).toBe(true)
    expect(matcher.matches('{"name": "look", "arguments": {"where": 1}}')).toBe(false)
  })
})
