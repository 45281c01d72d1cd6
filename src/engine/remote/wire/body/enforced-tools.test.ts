import { describe, expect, test } from 'vitest'
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

async function bodyOf(kind: ProfileName, toolChoice: ToolChoice) {
  const prompt = { type: 'chat', ...plainChat, messages: [{ role: 'user', content: [text('hi')] }], tools: [edit] } as const
  const request: GenerationRequest = { ...plainRequest, id: 'x', model: 'm', prompt, toolChoice, maxOutputTokens: 9 }
  const grammars = { compile: async (wanted: Parameters<typeof compileOutput>[0]) => compileOutput(wanted) }
  return (await requestBody(request, { profile: profiles[kind], model: 'up' }, grammars)).body
}

describe('a schema that only our grammars know', () => {
  test.each(profileNames)('the schema is never sent to %s', async (kind) => {
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
