import { expect, test } from 'vitest'
import { text } from '../../../test/support/parts.ts'
import { droppingUpstream } from '../../../test/support/upstream/dropping-upstream.ts'
import { answer, ask, engineOver, upstream } from '../../../test/support/upstream/remote-engine.ts'
import { type Message, plainChat } from '../../contract/request.ts'
import { protocolNames } from './servers/profile.ts'

/** Takes one system message, at the start. */
const template = `{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('late') }}{% endif %}[{{ m.role }}]{{ m.content }}{% endfor %}`
const { answer: reply } = droppingUpstream({ conforming: '', prose: 'ok' })
const say = (role: 'system' | 'user', words: string): Message => ({ role, content: [text(words)] })

test.each(protocolNames)('a conversation is healed for a template that is known, in %s', async (protocol) => {
  const server = await upstream(reply, { ownedBy: 'llamacpp' })
  const engine = engineOver([server], { profile: 'llama-server', protocol, readTemplate: async () => ({ source: template }) })
  const bodyFor = async (...messages: readonly Message[]) => {
    server.seen.length = 0
    await answer(engine, ask('', { prompt: { type: 'chat', ...plainChat, messages } }))
    const generations = server.seen.filter(({ body }) => body.stream === true)
    expect(generations).toHaveLength(1)
    return generations[0]?.body
  }
  const healed = await bodyFor(say('user', 'a\n\nb'), say('user', 'c'))
  expect(await bodyFor(say('user', 'a'), say('system', 'b'), say('user', 'c'))).toEqual(healed)
})
