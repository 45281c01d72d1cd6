import type { GenerationRequest } from '../../contract/request.ts'
import type { LoadOptions } from './channel/ipc.ts'
import { shortHash } from './channel/short-hash.ts'
import type { WorkerExchanges } from './worker-exchanges.ts'

/** A state is written at the speed of the disk's cache; a worker that hangs does not hold up the end. */
const saveTimeoutMs = 20_000

/** The parent's part of the prefix cache: whose requests are whose, and the last moment to save. */
export class SavedPrefixes {
  readonly #exchanges: () => Pick<WorkerExchanges, 'exchange' | 'nextId'>
  #isOn = false

  constructor(exchanges: () => Pick<WorkerExchanges, 'exchange' | 'nextId'>) {
    this.#exchanges = exchanges
  }

  /** The worker is about to be started with these options. */
  onStart({ prefixCache }: LoadOptions): void {
    this.#isOn = prefixCache !== undefined
  }

  ownerOf({ owner }: GenerationRequest): string | undefined {
    return this.#isOn && owner !== undefined ? shortHash(owner) : undefined
  }

  /** Lets the worker save what its slots hold; it gets no more work. Never rejects: without a worker there is nothing to save. */
  async save(): Promise<void> {
    if (!this.#isOn) return
    const exchanges = this.#exchanges()
    const command = { type: 'save-prefixes', id: exchanges.nextId() } as const
    await exchanges.exchange(command, 'prefixes-saved', saveTimeoutMs).catch(() => undefined)
  }
}
