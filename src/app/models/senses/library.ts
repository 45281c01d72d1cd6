import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const platform = `${process.platform}-${process.arch}`
const libraryName = process.platform === 'win32' ? 'mtmd.dll' : process.platform === 'darwin' ? 'libmtmd.dylib' : 'libmtmd.so'
const root = fileURLToPath(new URL('../../../..', import.meta.url))

/** The library with which the embedded engine sees and hears; undefined without one. It may be built while the server runs. */
export function findSenses(): string | undefined {
  return [builtHere(), join(root, 'senses'), installed()]
    .flatMap((folder) => (folder === undefined ? [] : [join(folder, libraryName)]))
    .find((path) => existsSync(path))
}

/** Where `npm run senses` puts it in a checkout: it fits the release of llama.cpp that is installed there. */
function builtHere(): string | undefined {
  try {
    const facts = readFileSync(join(root, 'node_modules', 'node-llama-cpp', 'llama', 'binariesGithubRelease.json'), 'utf8')
    const { release } = JSON.parse(facts) as { readonly release: string }
    return join(root, '.cache', 'senses', `${release}-${platform}`)
  } catch {
    // An installed package, which has node-llama-cpp elsewhere.
    return undefined
  }
}

/** The folder of the package for this platform, which npm installs beside Dragoman. */
function installed(): string | undefined {
  try {
    return dirname(createRequire(import.meta.url).resolve(`dragoman-senses-${platform}/package.json`))
  } catch {
    // There is none for this platform, or in this checkout.
    return undefined
  }
}
