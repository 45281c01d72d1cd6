import { fileURLToPath } from 'node:url'

/** The tiny model that comes with Dragoman and needs no network (training/README.md). */
export const builtinModel = {
  id: 'dragoman-tiny',
  path: fileURLToPath(new URL('../../models/dragoman-tiny.gguf', import.meta.url)),
} as const
