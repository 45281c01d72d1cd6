import { expect, onTestFinished, test } from 'vitest'
import { startApp, until } from '../../../test/support/http/app.ts'
import { startPrimary } from '../../../test/support/process/primary.ts'
import { fine, upstream } from '../../../test/support/upstream/remote-engine.ts'

test('a server that one process has ejected is tried with one request by the others', async () => {
  const join = startPrimary()
  const [stays, goes] = [await upstream(fine), await upstream(fine)]
  const endpoints = [stays, goes].map(({ url }) => ({ url }))
  const start = async () => {
    const app = await startApp(
      { builtinModel: false, models: [{ id: 'm', engine: 'remote', endpoints, probe: false, load: 'start' }] },
      { primary: join().primary },
    )
    onTestFinished(() => app.close())
    const ask = (content: string) =>
      fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }),
      })
    const states = async () => {
      const json = (await (await fetch(`${app.url}/v1/models/m`)).json()) as { readonly servers: readonly { state: string }[] }
      return json.servers.map(({ state }) => state)
    }
    await until(async () => (await states()).every((state) => state === 'healthy'))
    return { ask, states }
  }
  const [here, there] = [await start(), await start()]
  await goes.close()
  // Which server a question goes to depends on its text, and on the ports: one of several goes to the one that has left.
  for (let index = 0; (await here.states())[1] !== 'unhealthy'; index++) {
    expect(index, 'questions that all went to the same server').toBeLessThan(50)
    expect((await here.ask(`question ${index}`)).status).toBe(200)
  }
  // By itself, it would find out by three checks in half a minute.
  await until(async () => /half_open|unhealthy/.test((await there.states())[1] ?? ''), 10_000)
})
