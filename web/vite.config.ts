import { join } from 'node:path'
import { defineConfig } from 'vite'

/** Relative addresses: a proxy may serve the page below a prefix. */
export default defineConfig({
  root: import.meta.dirname,
  base: './',
  logLevel: 'warn',
  worker: { format: 'es' },
  build: {
    outDir: join(import.meta.dirname, '..', 'dist', 'page'),
    emptyOutDir: true,
    assetsDir: 'page',
    // No data: URLs, and one sheet of styles: it is small, and places do not wait for theirs.
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    target: 'es2022',
    // Advice for those who write the page, shown to whoever starts a server.
    rolldownOptions: { checks: { bundlerTimings: false } },
    cssTarget: ['chrome123', 'firefox121', 'safari17.5'],
  },
})
