import { orAborted } from '../../base/time-limit.ts'
import type { Device, Engine } from '../../contract/engine.ts'

type Options = {
  readonly engines: () => readonly Engine[]
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** Fires when a reader has waited long enough for a process that is busy: it gets the last answer. */
  readonly patience: () => AbortSignal
}

/** Many readers look; the processes are asked at most this often. */
const freshForMs = 1000

/** The GPUs of this machine, as the processes of loaded models see them: asked when somebody looks, and not otherwise. */
export function createDeviceMemory({ engines, now, patience }: Options): () => Promise<readonly Device[]> {
  let known: readonly Device[] = []
  let askedMs = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined
  const ask = async () => {
    // What was asked is waited for: a process that does not answer gets no second question.
    const never = new AbortController().signal
    // A process that ends has its memory no more.
    const read = (engine: Engine) => engine.capabilities.devices?.read(never).catch(() => []) ?? []
    known = merged((await Promise.all(engines().map(read))).flat())
  }
  return async () => {
    if (asking === undefined && now() - askedMs >= freshForMs) {
      askedMs = now()
      asking = ask().finally(() => {
        asking = undefined
      })
    }
    if (asking !== undefined) await orAborted(asking, patience()).catch(() => undefined)
    return known
  }
}

/** Processes name the same GPUs alike. Some drivers count for each process only its own: the least that is free is true for all. */
function merged(devices: readonly Device[]): readonly Device[] {
  const byName = new Map<string, Device>()
  for (const device of devices) {
    const other = byName.get(device.name)
    if (other === undefined || device.freeBytes < other.freeBytes) byName.set(device.name, device)
  }
  return [...byName.values()].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
}
