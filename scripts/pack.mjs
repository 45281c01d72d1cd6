// npm pack (prepack): builds what the package holds, so that a clone that was never built packs the same as one that was.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ensureBuilt, ensureInstalled, forgetOutputs } from './bootstrap.mjs'
import { bundlePrograms } from './build/bundle.mjs'
import { root } from './commands.mjs'
import { llamaPackage } from './llama-package.mjs'
import { ensureNode } from './node.mjs'
import { bundleMcpClient, listBundled, removeInnerTypes } from './trim-package.mjs'

await ensureNode()
if (!existsSync(join(root, 'node_modules', 'typescript'))) await ensureInstalled()
await ensureBuilt()
forgetOutputs()
await bundleMcpClient()
// With the client that is bundled now.
listBundled(await bundlePrograms())
removeInnerTypes()

// For editors; the example of a configuration names it.
const { configJsonSchema } = await import(pathToFileURL(join(root, 'dist', 'config', 'schema.js')).href)
writeFileSync(join(root, 'dist', 'dragoman.schema.json'), `${JSON.stringify(configJsonSchema())}\n`)

const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'))
const llama = llamaPackage({ manifest: read('package.json'), lock: read('package-lock.json') })
const folder = join(root, 'dist', 'llama-package')
mkdirSync(folder, { recursive: true })
// Not under their own names: npm gives those a meaning inside a package.
for (const [name, content] of [
  ['manifest.json', llama.package],
  ['lock.json', llama.lock],
]) {
  writeFileSync(join(folder, name), `${JSON.stringify(content, null, 2)}\n`)
}
