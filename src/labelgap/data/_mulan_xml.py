"""The XML file in which Mulan lists the labels of a data set."""

from __future__ import annotations

from xml.etree import ElementTree

from labelgap.data._contents import FileSource, contents_of


def read_label_xml(path: FileSource) -> list[str]:
    """Names of the labels, in the order of the file; hierarchies are flattened.

    The columns of the ARFF file need not come in this order: the ARFF file decides.
    """
    contents = contents_of(path)
    if b"<!DOCTYPE" in contents.data or b"<!ENTITY" in contents.data:
        raise contents.error(
            "the XML declares a document type or entities", remedy="Remove the declarations"
        )
    try:
        root = ElementTree.fromstring(contents.data)
    except ElementTree.ParseError as error:
        raise contents.error(
            f"this is not well-formed XML ({error.msg})",
            line=error.position[0],
            remedy="Check that this is Mulan's list of labels",
        ) from error
    names = [element.get("name") for element in root.iter() if _local_name(element) == "label"]
    if not names or None in names:
        raise contents.error(
            "no <label name=...> elements" if not names else "a <label> element has no name",
            remedy='Write every label as <label name="..."/>',
        )
    return [str(name) for name in names]


def _local_name(element: ElementTree.Element) -> str:
    return element.tag.rpartition("}")[2]
