import { orAborted } from '../../base/time-limit.ts'
import type { Device, Engine } from '../../contract/engine.ts'

type Options = {
  readonly engines: () => readonly Engine[]
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** Fires when a reader has waited long enough for a busy process: it gets the last answer. */
  readonly patience: () => AbortSignal
}

/** With many readers, the processes are asked at most this often. */
const freshForMs = 1000

/** The GPUs of this machine, as reported by the processes of loaded models; they are asked only on demand. */
export function createDeviceMemory({ engines, now, patience }: Options): () => Promise<readonly Device[]> {
  let known: readonly Device[] = []
  let askedMs = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined
  const ask = async () => {
    // A question is awaited: a process that does not answer gets no second one.
    const never = new AbortController().signal
    // An ending process no longer has memory.
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

/** Processes use the same names for GPUs. Some drivers count only each process's own use: the smallest free amount holds for all. */
function merged(devices: readonly Device[]): readonly Device[] {
  const byName = new Map<string, Device>()
  for (const device of devices) {
    const other = byName.get(device.name)
    if (other === undefined || device.freeBytes < other.freeBytes) byName.set(device.name, device)
  }
  return [...byName.values()].sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
}
