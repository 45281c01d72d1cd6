import { fileURLToPath } from 'node:url'

/** The model that comes with Dragoman (training/README.md): tiny, and there without any network. */
export const builtinModel = {
  id: 'dragoman-tiny',
  path: fileURLToPath(new URL('../../models/dragoman-tiny.gguf', import.meta.url)),
} as const
