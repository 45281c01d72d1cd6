/** Rows of pixels from the top, a byte for each channel: grey, or red, green and blue. */
export type Picture = { readonly width: number; readonly height: number; readonly channels: 1 | 3; readonly data: Uint8Array }

/** Makes a picture what a model gets. Readers without it leave notes in place of pictures. */
export type Draw<Drawn> = ((picture: Picture) => Drawn | Promise<Drawn>) | undefined

const maxDescriptionChars = 300

/** The place of a picture in a text. */
export function pictureNote(description = ''): string {
  const said = description.replace(/[[\]\s]+/g, ' ').trim()
  return said === '' ? '[picture, not read]' : `[picture, not read: ${said.slice(0, maxDescriptionChars)}]`
}

/** Whether a text has more than the numbers of pages and notes. */
export function saysMore(text: string): boolean {
  return text.replace(/^## (?:Page|Slide) \d+$|\[picture, not read[^\]]*\]/gm, '').trim() !== ''
}
