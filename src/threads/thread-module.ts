import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The URL of a thread's module in the caller's folder, with the caller's extension; `name` has none. */
export function threadModule(name: string, callerUrl: string): URL {
  return new URL(`./${name}${extname(fileURLToPath(callerUrl))}`, callerUrl)
}

/** The source for a `Worker` that runs a module: from sources (tests, development) it has to load TypeScript; built, JavaScript. */
export function threadSource(module: URL): string {
  const path = fileURLToPath(module)
  if (extname(path) !== '.ts') return `import(${JSON.stringify(module.href)})`
  const tsx = createRequire(import.meta.url).resolve('tsx/cjs/api')
  return `require(${JSON.stringify(tsx)}).register(); require(${JSON.stringify(path)})`
}
