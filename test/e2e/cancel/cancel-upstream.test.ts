import { describe, expect, test } from 'vitest'
import { startApp, until } from '../../support/http/app.ts'
import { type Answer, chatChunk, openStream, type SeenRequest, startUpstream } from '../../support/upstream/upstream.ts'

const question = 'Who hears this?'
const messages = [{ role: 'user', content: question }]
/** Others ask what kind of server it is. */
const isOurs = ({ body }: Pick<SeenRequest, 'body'>) => JSON.stringify(body).includes(question)

/** A server whose model is answered by another server. */
async function startOver(answer: Answer) {
  const upstream = await startUpstream((request, response) =>
    isOurs(request) ? answer(request, response) : void response.writeHead(404).end(),
  )
  const app = await startApp({ models: [{ id: 'm', engine: 'remote', endpoints: [{ url: upstream.url }] }] })
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    return (await fetch(`${app.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text()
  }
  const close = () => Promise.all([app.close(), upstream.close()])
  return { upstream, asked: () => upstream.seen.filter(isOurs), post, close }
}

describe('a cancel of a request that another server answers', () => {
  test.each<[stage: string, answer: Answer]>([
    ['before its headers', () => undefined],
    ['before its first token', (_request, response) => openStream(response)],
    [
      'while it generates',
      (_request, response) => {
        openStream(response)
        response.write(chatChunk({ delta: { content: 'Hello' } }))
      },
    ],
  ])('C26, C27, C28, C29: closes the connection to it %s', async (_stage, answer) => {
    const { upstream, asked, post, close } = await startOver(answer)
    const reply = post('/v1/chat/completions', { model: 'm', messages, stream: true, cancel_id: 'c' })
    await until(() => asked().length === 1)
    expect(JSON.parse(await post('/api/inference/cancel', { cancel_id: 'c' }))).toEqual({ cancelled: 1 })
    const text = await reply
    expect(text).toMatch(/"finish_reason":"length".*\[DONE\]/s)
    expect(text).not.toContain('"error"')
    await until(() => upstream.hangUps() === 1)
    expect(asked()[0]?.body).not.toHaveProperty('cancel_id')
    await close()
  })

  test('C23: that came before it is not sent on', async () => {
    const { asked, post, close } = await startOver(() => undefined)
    await post('/api/inference/cancel', { cancel_id: 'c' })
    const text = await post('/v1/chat/completions', { model: 'm', messages, cancel_id: 'c' })
    expect(JSON.parse(text)).toMatchObject({ choices: [{ finish_reason: 'length' }] })
    expect(asked()).toEqual([])
    await close()
  })
})
