/** The text of a file as a model gets it. */
export function fileAsText(filename: string | undefined, text: string): string {
  return `File${filename === undefined ? '' : ` ${filename}`}:\n\n${text}`
}
