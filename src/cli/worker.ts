import { createApp } from '../app/create-app.ts'
import { createLog } from '../app/log/log.ts'
import type { LoadedConfig } from '../config/load.ts'
import { AppError, messageOf } from '../contract/errors.ts'
import { joinPrimary } from '../workers/membership.ts'
import { type Order, orderSchema, type Report } from '../workers/order.ts'
import { shareOf, type WorkerPlace } from '../workers/share.ts'
import { tuneV8 } from './v8-flags.ts'

/**
 * One of several processes that answer requests (`server.workers`). The primary process starts it, sends it orders and accepts its
 * connections. It ends with the primary process.
 */

// A terminal and a service manager signal all processes of a server together, but the primary process decides what happens. SIGUSR1 would
// open Node's debugger.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGUSR1'] as const) process.on(signal, () => undefined)

tuneV8()

type Start = Extract<Order, { type: 'start' }>

const send = (message: object) => void process.send?.(message)
const report = (message: Report) => send(message)
const { primary, take } = joinPrimary({ send })

let onStart: (order: Start) => void = () => undefined
let onDrain: () => void = () => undefined
/** The latest configuration that arrived during its start. */
let changed: object | undefined
let onChange = (config: object) => {
  changed = config
}
const starting = new Promise<Start>((resolve) => {
  onStart = resolve
})
const draining = new Promise<undefined>((resolve) => {
  onDrain = () => resolve(undefined)
})
process.on('message', (message: unknown) => {
  if (take(message)) return
  const order = orderSchema.parse(message)
  if (order.type === 'start') onStart(order)
  else if (order.type === 'reconfigure') onChange(order.config)
  else onDrain()
})

report({ type: 'waiting' })
const order = await Promise.race([starting, draining])
if (order !== undefined) await serve(order)
process.disconnect()
process.exit()

async function serve({ config: checked, ...place }: Start): Promise<void> {
  const share = (whole: object) => shareConfig(whole as LoadedConfig, place)
  const config = share(checked)
  const log = createLog({ level: config.log.level })
  try {
    const made = createApp(config, { log, primary })
    // Opening the store may wait for a database.
    const app = await Promise.race([made, draining])
    if (app === undefined) return
    let changing = Promise.resolve()
    onChange = (next) => {
      changing = changing
        .then(() => app.reconfigure(share(next)))
        .catch((error: unknown) => log.error({ reason: messageOf(error) }, 'a worker did not take the changed configuration'))
    }
    if (changed !== undefined) onChange(changed)
    report({ type: 'listening', url: await app.listen() })
    await draining
    await app.close()
  } catch (error) {
    const { code, message } = AppError.from(error)
    if (code === 'internal') log.error({ err: error }, 'the worker failed')
    report({ type: 'failed', code, message })
  }
}

/** The configuration of one of several workers: its share of the common limits. */
function shareConfig(config: LoadedConfig, place: WorkerPlace): LoadedConfig {
  const { server, models, listings } = config
  const shared = <Entry extends { readonly slots: number; readonly maxQueued: number }>(entry: Entry): Entry => ({
    ...entry,
    slots: shareOf(entry.slots, place),
    maxQueued: shareOf(entry.maxQueued, place),
  })
  // A body of the allowed size must be possible.
  const totalBodyLimitBytes = Math.max(server.bodyLimitBytes, shareOf(server.totalBodyLimitBytes, place))
  return {
    ...config,
    server: { ...server, totalBodyLimitBytes },
    models: models.map(shared),
    listings: listings.map(shared),
  }
}
