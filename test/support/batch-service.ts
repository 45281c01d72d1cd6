import { onTestFinished } from 'vitest'
import type { BatchDeps, LineReply, SentLine } from '../../src/batches/deps.ts'
import { Batches } from '../../src/batches/service.ts'
import { AppError } from '../../src/contract/errors.ts'
import type { FileStore, StoredFile } from '../../src/contract/file-store.ts'
import type { Principal } from '../../src/contract/principal.ts'
import type { Batch } from '../../src/contract/server/batches.ts'
import { until } from './http/app.ts'
import { openTestStore } from './test-store.ts'

export const ann: Principal = { id: 'ann', keyHash: 'a'.repeat(64), scopes: new Set(['inference']) }
export const reply = (status: number, body: object = {}, more: Partial<LineReply> = {}): LineReply => ({
  status,
  requestId: 'req_1',
  body: JSON.stringify(body),
  ...more,
})
export const dayMs = 86_400_000

/** Files in memory. */
function createFiles() {
  const kept = new Map<string, { readonly file: StoredFile; readonly bytes: Buffer }>()
  const files: FileStore = {
    add: async (_, { filename, mediaType, bytes, wishes }) => {
      const pieces: Uint8Array[] = []
      for await (const piece of bytes) pieces.push(piece)
      const all = Buffer.concat(pieces)
      const { purpose = '' } = await wishes()
      const file = { id: `file-${kept.size}`, filename, mediaType, purpose, sizeBytes: all.length, createdAtMs: 0 }
      kept.set(file.id, { file, bytes: all })
      return file
    },
    list: async () => [...kept.values()].map(({ file }) => file),
    get: async (_, id) => found(kept.get(id)).file,
    content: async (_, id) =>
      (async function* () {
        yield found(kept.get(id)).bytes
      })(),
    delete: async (_, id) => void kept.delete(id),
  }
  const textOf = (id: string | undefined) => kept.get(id ?? '')?.bytes.toString() ?? ''
  return { files, textOf }
}

export function found<T>(value: T | undefined): T {
  if (value === undefined) throw new AppError('not-found', 'there is no such file')
  return value
}

/** The words of no protocol. */
const words: BatchDeps['words'] = {
  encodeError: (form, { code }) => ({ status: 500, body: { form, code } }),
  encodeResult: (_, line) => `${JSON.stringify(line)}\n`,
}

type Given = {
  readonly send: (line: SentLine, attempt: number) => LineReply | Promise<LineReply>
  readonly slots?: number
  /** Called with each call of the store; what it throws comes after a claim is made, as if its reply was lost. */
  readonly onStore?: {
    readonly claim?: (id: string) => void
    readonly finish?: () => void
    readonly giveBack?: (notBeforeMs: number) => void
  }
} & Partial<Omit<BatchDeps, 'send'>>

/** A service of batches over a store and files of its own. */
export async function openService({ send, slots = 2, onStore, ...given }: Given) {
  const { batches: kept } = await openTestStore()
  const store: typeof kept = {
    ...kept,
    claim: async (...call) => {
      const lines = await kept.claim(...call)
      onStore?.claim?.(call[0])
      return lines
    },
    giveBack: async (...call) => {
      onStore?.giveBack?.(call[1].notBeforeMs)
      return kept.giveBack(...call)
    },
    finish: async (...call) => {
      onStore?.finish?.()
      return kept.finish(...call)
    },
  }
  const { files, textOf } = createFiles()
  const sent: string[] = []
  let busy = 0
  const failures: unknown[] = []
  const create = () => {
    const batches = new Batches({
      store,
      files,
      words,
      models: {
        find: (name) => {
          if (name !== 'model') throw new AppError('model-not-found', `there is no model '${name}'`)
          return { id: 'model', engine: {}, scheduler: { load: { slots, busy, queued: 0 } } } as never
        },
      },
      send: async (line) => {
        sent.push(line.body)
        busy += 1
        try {
          return await send(line, sent.filter((body) => body === line.body).length)
        } finally {
          busy -= 1
        }
      },
      findPrincipal: async () => ann,
      maxLineBytes: 10_000,
      wallClock: Date.now,
      onEnded: () => undefined,
      onLeft: () => undefined,
      onFailure: (error) => void failures.push(error),
      ...given,
    })
    onTestFinished(() => batches.close())
    return batches
  }
  const batches = create()
  batches.start()
  /** `bodies`: values or JSON. */
  const run = async (bodies: readonly (object | string)[]) => {
    const lines = bodies.map((body, index) => {
      const json = typeof body === 'string' ? body : JSON.stringify(body)
      return `{"custom_id":"${index}","method":"POST","url":"/v1/embeddings","body":${json}}`
    })
    const bytes = [Buffer.from(lines.join('\n'))]
    const upload = { filename: 'in', mediaType: '', bytes: toStream(bytes), wishes: async () => ({ purpose: 'batch' }) }
    const { id: inputFileId } = await files.add('ann', upload, new AbortController().signal)
    return batches.createFromFile(ann, { endpoint: '/v1/embeddings', inputFileId, windowMs: dayMs })
  }
  const stateOf = async ({ id }: Batch) => found(await store.find('ann', id))
  const ended = async (batch: Batch) => {
    await until(async () => (await stateOf(batch)).times.endedMs !== undefined)
    return stateOf(batch)
  }
  return { batches, create, run, ended, stateOf, textOf, sent, failures, store }
}

export async function* toStream<T>(pieces: readonly T[]) {
  yield* pieces
}
