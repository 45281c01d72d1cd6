import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { AppError } from '../../contract/errors.ts'

const libraryName = process.platform === 'win32' ? 'mtmd.dll' : process.platform === 'darwin' ? 'libmtmd.dylib' : 'libmtmd.so'
/** Where `npm run senses` puts it in a checkout. */
const built = fileURLToPath(new URL('../../../.cache/senses', import.meta.url))

/** The library with which the embedded engine sees and hears. Throws `model-unavailable` without it. */
export function requireSenses(): string {
  const ending = `-${process.platform}-${process.arch}`
  const folder = existsSync(built) ? readdirSync(built).find((name) => name.endsWith(ending)) : undefined
  const path = folder === undefined ? undefined : join(built, folder, libraryName)
  if (path !== undefined && existsSync(path)) return path
  const message = 'the library for pictures and sound is not built: run `npm run senses`, which needs cmake and a C++ compiler'
  throw new AppError('model-unavailable', message)
}
