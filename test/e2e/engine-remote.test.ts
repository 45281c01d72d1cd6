import { pino } from 'pino'
import { createRemoteEngine } from '../../src/engine/remote/engine.ts'
import { describeEngineContract } from '../engine-contract.ts'
import { startApp } from '../support/app.ts'
import { randomModel } from '../support/models.ts'

describeEngineContract('remote, over another Dragoman', {
  longPrompt: 'Tell me a long story about the sea.',
  create: async () => {
    const source = await randomModel()
    const upstream = await startApp({
      models: [{ id: 'up', engine: 'llama', source, contextLength: 2048, threads: 1 }],
      builtinModel: false,
    })
    const log = pino({ level: 'silent' })
    const engine = createRemoteEngine({ id: 'up', endpoints: [{ url: `${upstream.url}/v1`, weight: 1 }], connections: 8, log })
    const close = engine.close.bind(engine)
    let closings = 0
    return Object.assign(engine, {
      close: async () => {
        await close()
        closings += 1
        // The suite closes the engine once to open it again, and once at its end.
        if (closings === 2) await upstream.close()
      },
    })
  },
})
