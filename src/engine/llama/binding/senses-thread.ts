import { parentPort, workerData } from 'node:worker_threads'
import { declareSenses } from './senses-library.ts'

/**
 * The thread that decodes and encodes media. Passes are computed in threads of libuv's pool, of which there may be one: a call that takes
 * seconds would hold them up.
 */

const { path, nothing } = workerData
const library = declareSenses(path, nothing)

parentPort?.on('message', ({ name, args }: { readonly name: 'readBitmap' | 'tokenize' | 'encode'; readonly args: never[] }) => {
  parentPort?.postMessage((library[name] as (...given: never[]) => unknown)(...args))
})
