import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Mutant, mutated } from './mutant.ts'

/** It is removed when the process exits. */
export type TreeCopy = {
  readonly root: string
  /** Changes a source and what is built from it; resolves with what takes the change back. */
  change(mutant: Mutant): Promise<() => Promise<void>>
  remove(): void
}

/** A copy of a tree that is built. Its files are links to the same bytes: they are replaced, never written. */
export function copyTree(tree: string): TreeCopy {
  const cache = join(tree, '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = realpathSync(mkdtempSync(join(cache, 'mutants-')))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const root = join(folder, 'tree')
  mkdirSync(root)
  const shared = join(tree, '..', 'shared')
  if (existsSync(shared)) symlinkSync(shared, join(folder, 'shared'))
  const asLinks = ['node_modules', '.cache']
  for (const name of asLinks) symlinkSync(realpathSync(join(tree, name)), join(root, name))
  linkFiles(tree, root, [...asLinks, '.git'])
  const markBuilt = async () => {
    const bootstrap = await import(pathToFileURL(join(root, 'scripts', 'bootstrap.mjs')).href)
    bootstrap.markBuilt()
  }
  return {
    root,
    change: async (mutant) => {
      const source = mutated(mutant, tree)
      const built = mutant.file.replace(/^src/, 'dist').replace(/ts$/, 'js')
      const changed = { [mutant.file]: source, [built]: builtFrom(source) }
      for (const [file, text] of Object.entries(changed)) {
        rmSync(join(root, file))
        writeFileSync(join(root, file), text)
      }
      await markBuilt()
      return async () => {
        for (const file of Object.keys(changed)) {
          rmSync(join(root, file))
          linkSync(join(tree, file), join(root, file))
        }
        await markBuilt()
      }
    },
    remove,
  }
}

/** What tsc makes of a source: all types of ours can be erased. */
function builtFrom(source: string): string {
  const imports = /(\bfrom\s*|\bimport\s*\(?\s*)(['"])(\.\.?\/[^'"]+)\.ts\2/g
  return stripTypeScriptTypes(source).replace(imports, '$1$2$3.js$2')
}

function linkFiles(from: string, to: string, except: readonly string[] = []): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (except.includes(entry.name)) continue
    if (entry.isDirectory()) linkFiles(source, target)
    else linkSync(source, target)
  }
}
