import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Vitest's processes start without it; contexts that are made after the flag have it. */
setFlagsFromString('--expose-gc')

/** What is left in memory afterwards is in use. */
export const collectGarbage: () => void = runInNewContext('gc')
