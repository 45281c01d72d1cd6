import { expect, test } from 'vitest'
import { text } from '../../../test/support/parts.ts'
import { decodeChat } from './decode.ts'

const billing = 'x-anthropic-billing-header: cc_version=2.1.330.639; cc_entrypoint=sdk-cli;'

function decode(...messages: object[]) {
  const { request, ignored } = decodeChat({ model: 'm', messages: [...messages, { role: 'user', content: 'hi' }] }, 'x')
  return { first: request.prompt.type === 'chat' ? request.prompt.messages[0] : undefined, ignored }
}

test.each(['system', 'developer'])("Claude Code's billing line is left out of a %s message, and listed", (role) => {
  const asText = decode({ role, content: `${billing}\n\nBe brief.` })
  expect(asText).toEqual({ first: { role, content: [text('Be brief.')] }, ignored: ['messages[].content'] })
  const asParts = decode({ role, content: [text(billing), text('Be brief.')] })
  expect(asParts).toEqual({ first: { role, content: [text(''), text('Be brief.')] }, ignored: ['messages[].content'] })
})

test('a user may write about it', () => {
  expect(decode({ role: 'user', content: billing })).toEqual({ first: { role: 'user', content: [text(billing)] }, ignored: [] })
})

test('cache marks change nothing', () => {
  const marked = decode({ role: 'system', content: [{ ...text('Be brief.'), cache_control: { type: 'ephemeral' } }] })
  expect(marked.first).toEqual(decode({ role: 'system', content: 'Be brief.' }).first)
})
