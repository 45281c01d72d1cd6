// For `--import`: the sources that a test's program imports are those that are built, as in the test itself (vitest.config.ts).
import { registerHooks } from 'node:module'

const [sources, built] = ['src', 'dist'].map((name) => new URL(`../../../${name}/`, import.meta.url).href)

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context)
    if (!found.url.startsWith(sources) || !found.url.endsWith('.ts') || found.url.includes('__fixtures__')) return found
    return { ...found, url: found.url.replace(sources, built).replace(/ts$/, 'js'), format: 'module' }
  },
})
