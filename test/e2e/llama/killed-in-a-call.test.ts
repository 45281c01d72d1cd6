import { expect, onTestFinished, test } from 'vitest'
import { startLlamaServer } from '../../../bench/llama-server.ts'
import { builtinModel } from '../../../src/registry/names/builtin-model.ts'
import { startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'

test.skipIf(llamaServerBinary === undefined)(
  `a call of a llama-server that is killed goes on at another where it was${llamaServerHint}`,
  async () => {
    const start = () =>
      startLlamaServer({
        program: llamaServerBinary ?? '',
        modelPath: builtinModel.path,
        slots: 1,
        contextLength: 2048,
        more: ['--jinja'],
      })
    const servers = await Promise.all([start(), start()])
    onTestFinished(() => Promise.all(servers.map((server) => server.stop())).then(() => undefined))
    const endpoints = servers.map(({ url }) => ({ url: `${url}/v1` }))
    const models = [{ id: 'm', engine: 'remote' as const, server: 'llama-server' as const, endpoints }]
    const app = await startApp({ models, builtinModel: false })
    onTestFinished(() => app.close())
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string' }, day: { type: 'string' } },
      required: ['city', 'day'],
    }
    const tool = {
      type: 'function',
      function: { name: 'get_weather', description: 'Gets the weather of a city on a day.', parameters },
    }
    const messages = [{ role: 'user', content: 'What is the weather in Copenhagen on Wednesday?' }]
    const call = async (onPart: () => Promise<void> | void) => {
      const body = JSON.stringify({ model: 'm', messages, tools: [tool], temperature: 0, max_tokens: 200, stream: true })
      const reply = await fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      const seen = { ids: new Set<string>(), arguments: '', finish: '', text: '' }
      for await (const piece of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        seen.text += piece
        if (seen.text.includes('"arguments":"{')) await onPart()
      }
      for (const line of seen.text.split('\n').filter((text) => text.startsWith('data: {'))) {
        const [choice] = JSON.parse(line.slice(6)).choices ?? []
        const [part] = choice?.delta?.tool_calls ?? []
        if (part?.id !== undefined) seen.ids.add(part.id)
        seen.arguments += part?.function?.arguments ?? ''
        seen.finish = choice?.finish_reason ?? seen.finish
      }
      return seen
    }
    const whole = await call(() => undefined)
    expect(whole).toMatchObject({ finish: 'tool_calls', arguments: expect.stringContaining('Copenhagen') })
    const pids = servers.map(({ pid }) => pid)
    const signal = (name: NodeJS.Signals) => pids.map((pid) => process.kill(pid, name))
    // As fast as it is, it would end the call first: it runs for a tenth of the time.
    let at = 0
    const pauses = setInterval(() => signal(at++ % 10 === 0 ? 'SIGCONT' : 'SIGSTOP'), 3)
    onTestFinished(() => clearInterval(pauses))
    let isKilled = false
    const broken = await call(async () => {
      if (isKilled) return
      isKilled = true
      clearInterval(pauses)
      signal('SIGSTOP')
      const { servers: found } = (await (await fetch(`${app.url}/v1/models/m`)).json()) as {
        servers: { active_requests: number }[]
      }
      process.kill(
        pids.splice(
          found.findIndex((server) => server.active_requests > 0),
          1,
        )[0] ?? 0,
        'SIGKILL',
      )
      signal('SIGCONT')
    })
    expect(pids).toHaveLength(1)
    expect(broken.ids.size).toBe(1)
    // What the other one writes from there is its own: only the first knew the schema of the arguments.
    expect(broken.finish, broken.text).toBe('tool_calls')
    expect(JSON.parse(broken.arguments)).toMatchObject({ city: expect.stringContaining('Copenhagen') })
  },
)
