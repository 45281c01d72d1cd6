const names = ['koffi', 'node-llama-cpp']

/** Node's arguments for a process that imports node-llama-cpp and koffi from this folder, whichever file asks for them. */
export function importLlamaFrom(folder: string): string[] {
  const parent = new URL('package.json', `file://${encodeURI(folder.replaceAll('\\', '/'))}/`).href
  const hooks = `export const resolve = (specifier, context, next) =>
    next(specifier, ${JSON.stringify(names)}.includes(specifier) ? { ...context, parentURL: ${JSON.stringify(parent)} } : context)`
  const program = `import { register } from 'node:module'\nregister(${JSON.stringify(toUrl(hooks))})`
  return ['--import', toUrl(program)]
}

function toUrl(program: string): string {
  return `data:text/javascript,${encodeURIComponent(program)}`
}
