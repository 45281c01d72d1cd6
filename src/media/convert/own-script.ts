import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The arguments with which Node.js runs a script of this folder: TypeScript from sources (tests, development), JavaScript built. */
export function argsOfScript(name: string): readonly string[] {
  const script = fileURLToPath(new URL(`./${name}${extname(fileURLToPath(import.meta.url))}`, import.meta.url))
  const loader = script.endsWith('.ts') ? ['--import', import.meta.resolve('tsx')] : []
  return [...loader, script]
}
