// Where `npm run senses` puts the library for pictures and sound, and what it is made of.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './commands.mjs'

const { platform, arch } = process

/** Of this checkout, with its dependencies installed. `version` is that of the recipe, which `stamp` records. */
export function sensesPlace() {
  const llama = join(root, 'node_modules', 'node-llama-cpp', 'llama')
  const recipe = join(root, 'scripts', 'senses')
  const { release } = JSON.parse(readFileSync(join(llama, 'binariesGithubRelease.json'), 'utf8'))
  const version = createHash('sha256')
    .update(readFileSync(join(recipe, 'CMakeLists.txt')))
    .digest('hex')
    .slice(0, 8)
  const cache = join(root, '.cache', 'senses')
  const name = { win32: 'mtmd.dll', darwin: 'libmtmd.dylib' }[platform] ?? 'libmtmd.so'
  const target = join(cache, `${release}-${platform}-${arch}`)
  const stamp = join(target, 'recipe')
  const isBuilt = () => existsSync(stamp) && readFileSync(stamp, 'utf8') === version
  return { llama, recipe, release, version, cache, name, target, library: join(target, name), isBuilt }
}
