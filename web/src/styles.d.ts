declare module '*.css'
declare module '*.css?url' {
  const address: string
  // biome-ignore lint/style/noDefaultExport: what the bundler makes.
  export default address
}
