import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const libraryName = process.platform === 'win32' ? 'mtmd.dll' : process.platform === 'darwin' ? 'libmtmd.dylib' : 'libmtmd.so'
/** Where `npm run senses` puts it in a checkout. */
const built = fileURLToPath(new URL('../../../.cache/senses', import.meta.url))

/** The library with which the embedded engine sees and hears; undefined without one. */
export function findSenses(): string | undefined {
  const ending = `-${process.platform}-${process.arch}`
  const folder = existsSync(built) ? readdirSync(built).find((name) => name.endsWith(ending)) : undefined
  const path = folder === undefined ? undefined : join(built, folder, libraryName)
  return path !== undefined && existsSync(path) ? path : undefined
}
