import type { ServerResponse } from 'node:http'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startApp, until } from '../../../test/support/http/app.ts'
import { startPrimary } from '../../../test/support/process/primary.ts'
import { fine, upstream } from '../../../test/support/upstream/remote-engine.ts'

vi.setConfig({ testTimeout: 90_000 })

type Message = { readonly role: string; readonly content: string }

/** Servers that know which process asks them, by its key, and processes before them that tell each other what they eject. */
async function fleet(serverCount: number, processCount: number) {
  const servers = await Promise.all(Array.from({ length: serverCount }, () => upstream(fine, { ownedBy: 'vllm' })))
  const join = startPrimary()
  const start = async (key: string) => {
    const apiKeyEnv = `DRAGOMAN_TEST_SKEWED_${key.toUpperCase()}`
    vi.stubEnv(apiKeyEnv, key)
    const endpoints = servers.map(({ url }) => ({ url, apiKeyEnv }))
    const app = await startApp(
      { builtinModel: false, models: [{ id: 'm', engine: 'remote', endpoints, load: 'start' }] },
      { primary: join().primary },
    )
    onTestFinished(() => app.close())
    const ask = async (messages: readonly Message[]) => {
      const response = await fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', messages }),
      })
      expect(response.status, await response.text()).toBe(200)
    }
    const states = async () => {
      const json = (await (await fetch(`${app.url}/v1/models/m`)).json()) as { readonly servers: readonly { state: string }[] }
      return json.servers.map(({ state }) => state)
    }
    await until(async () => (await states()).every((state) => state === 'healthy'))
    return { key, ask, states }
  }
  const processes = await Promise.all(Array.from({ length: processCount }, (_, index) => start(`key${index}`)))
  return { servers, processes }
}

type Server = Awaited<ReturnType<typeof fleet>>['servers'][number]
type Process = Awaited<ReturnType<typeof fleet>>['processes'][number]

const keyOf = (response: ServerResponse) => response.req.headers.authorization?.replace('Bearer ', '') ?? ''
const asked = ({ seen }: Server, { key }: Process) =>
  seen.filter(({ headers }) => headers.authorization === `Bearer ${key}`).length

let asks = 0
const question = () => [{ role: 'user', content: `question ${asks++}` }]

/** The first question of a conversation that this server got. */
async function conversationAt(server: Server, one: Process): Promise<readonly Message[]> {
  for (;;) {
    const messages = question()
    const before = asked(server, one)
    await one.ask(messages)
    if (asked(server, one) > before) return messages
  }
}

const next = (messages: readonly Message[]) => [
  ...messages,
  { role: 'assistant', content: 'ok' },
  { role: 'user', content: 'and then?' },
]

/** Longer than a process goes by what it has just got of a server. */
const rest = () => new Promise((resolve) => setTimeout(resolve, 2500))

/** How half of the processes lose their way to a server, and how the others find out that theirs is good. */
const losses: readonly [string, (response: ServerResponse) => void, 'a reply' | 'a check'][] = [
  ['breaks', ({ socket }) => socket?.destroy(), 'a reply'],
  ['swallows everything', () => undefined, 'a check'],
]

test.each(losses)(
  'where the way of half of the processes to a server %s, these fail no request, and the others keep their conversations there',
  async (_, lose, proof) => {
    const { servers, processes } = await fleet(2, 4)
    const [lost] = servers
    const [inDark, inLight] = [processes.slice(0, 2), processes.slice(2)]
    if (lost === undefined) return expect.unreachable('there are two servers')
    const before = inDark.map((one) => asked(lost, one))
    const conversations = await Promise.all(inLight.map((one) => conversationAt(lost, one)))
    await rest()
    const isLost = (response: ServerResponse) => inDark.some(({ key }) => key === keyOf(response))
    lost.get = (_, response) => {
      if (isLost(response)) lose(response)
      return isLost(response)
    }
    lost.answer = (request, response) => (isLost(response) ? lose(response) : fine(request, response))
    const areHealthy = async (some: readonly Process[]) =>
      (await Promise.all(some.map(({ states }) => states()))).flat().every((state) => state === 'healthy')
    for (const one of inDark)
      while ((await one.states())[0] !== 'unhealthy') {
        await one.ask(question())
      }
    // The word of the others is not theirs.
    await until(async () => {
      if (proof === 'a reply') await Promise.all(inLight.map((one) => one.ask(question())))
      return areHealthy(inLight)
    }, 20_000)
    for (const [index, one] of inLight.entries()) {
      const before = asked(lost, one)
      await one.ask(next(conversations[index] ?? []))
      expect(asked(lost, one) - before).toBe(1)
    }
    expect(await areHealthy(inDark)).toBe(false)
    for (const [index, one] of inDark.entries()) expect(asked(lost, one) - (before[index] ?? 0)).toBeLessThanOrEqual(8)
    // The way is back.
    lost.get = () => false
    lost.answer = fine
    await until(async () => {
      await Promise.all(inDark.map((one) => one.ask(question())))
      return areHealthy(inDark)
    })
  },
)

test('a server that is silent for one process only loses its requests to others, and keeps those of the other process', async () => {
  const { servers, processes } = await fleet(3, 2)
  const [silent] = servers
  const [here, there] = processes
  if (silent === undefined || here === undefined || there === undefined) return expect.unreachable('there are some')
  const conversation = await conversationAt(silent, there)
  for (let count = 0; count < 10; count++) await here.ask(question())
  silent.answer = (request, response) => {
    if (keyOf(response) !== here.key) return fine(request, response)
  }
  const unanswered: Promise<void>[] = []
  for (let index = 0; (await here.states())[0] !== 'unhealthy'; index++) {
    unanswered.push(here.ask(question()))
    await there.ask([...next(conversation), { role: 'user', content: `${index}` }])
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  await Promise.all(unanswered)
  expect(await there.states()).toEqual(['healthy', 'healthy', 'healthy'])
  const before = asked(silent, there)
  await there.ask(next(conversation))
  expect(asked(silent, there) - before).toBe(1)
})
