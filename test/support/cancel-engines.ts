import { type RunningApp, startApp } from './http/app.ts'
import { llamaServerBinary } from './llama/llama-server.ts'
import { randomModel } from './llama/models.ts'

/** The engines that run a model, and the one over another server; each as the model `m`, alias `default`. */
export const cancelEngines: readonly CancelEngine[] = [
  'llama',
  ...(llamaServerBinary === undefined ? [] : (['llama-server'] as const)),
  'remote',
]

export type CancelEngine = 'llama' | 'llama-server' | 'remote'

/** A server with one of these engines; `busy` also counts what the server behind it runs. */
export type EngineUnderCancel = { readonly app: RunningApp; busy(): Promise<number>; close(): Promise<void> }

export async function openEngineUnderCancel(engine: CancelEngine, slots: number): Promise<EngineUnderCancel> {
  const source = await randomModel()
  const model = { id: 'm', aliases: ['default'], source, contextLength: 4096, threads: 1, slots, maxQueued: 1000 }
  const settings = { builtinModel: false, storage: {} }
  const read = (app: RunningApp) => app.metric('dragoman_slots_busy{model="m"}')
  if (engine !== 'remote') {
    const own =
      engine === 'llama'
        ? ({ ...model, engine: 'llama' } as const)
        : ({ ...model, engine: 'llama-server', binary: llamaServerBinary ?? 'llama-server' } as const)
    const app = await startApp({ ...settings, models: [own] })
    return { app, busy: () => read(app), close: () => app.close() }
  }
  const upstream = await startApp({ ...settings, models: [{ ...model, engine: 'llama' }] })
  const { id, aliases, maxQueued } = model
  const endpoints = [{ url: `${upstream.url}/v1` }]
  const app = await startApp({ ...settings, models: [{ id, aliases, maxQueued, slots, engine: 'remote', endpoints }] })
  return {
    app,
    busy: async () => (await read(app)) + (await read(upstream)),
    close: async () => {
      await app.close()
      await upstream.close()
    },
  }
}
