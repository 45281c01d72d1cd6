import { expect, onTestFinished, test } from 'vitest'
import { startApp } from '../../support/http/app.ts'
import { llamaServerBinary, llamaServerHint } from '../../support/llama/llama-server.ts'

test.skipIf(llamaServerBinary === undefined)(
  `a call of a server that is killed from outside goes on where it was${llamaServerHint}`,
  async () => {
    const model = {
      id: 'm',
      engine: 'llama-server' as const,
      binary: llamaServerBinary ?? '',
      source: 'builtin:dragoman-tiny.gguf',
      contextLength: 2048,
      threads: 1,
    }
    const app = await startApp({ models: [model], builtinModel: false })
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
    const call = async (onPart: () => void) => {
      const body = JSON.stringify({ model: 'm', messages, tools: [tool], temperature: 0, max_tokens: 200, stream: true })
      const reply = await fetch(`${app.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      })
      const seen = { ids: new Set<string>(), arguments: '', finish: '', text: '' }
      for await (const piece of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        seen.text += piece
        if (seen.text.includes('"arguments":"{')) onPart()
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
    const ready = () => app.logLines().filter((line) => line.msg === 'model is ready') as unknown as { workerPid: number }[]
    const pid = ready()[0]?.workerPid ?? 0
    // As fast as it is, it would end the call first: it runs for a tenth of the time.
    let at = 0
    const pauses = setInterval(() => process.kill(pid, at++ % 10 === 0 ? 'SIGCONT' : 'SIGSTOP'), 3)
    onTestFinished(() => clearInterval(pauses))
    let isKilled = false
    const broken = await call(() => {
      clearInterval(pauses)
      if (!isKilled) process.kill(pid, 'SIGKILL')
      isKilled = true
    })
    expect(ready()).toHaveLength(2)
    expect(broken.ids.size).toBe(1)
    expect({ finish: broken.finish, arguments: JSON.parse(broken.arguments) }).toEqual({
      finish: 'tool_calls',
      arguments: JSON.parse(whole.arguments),
    })
  },
)
