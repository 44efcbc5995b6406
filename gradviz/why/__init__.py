"""Why is this gradient None, zero, wrong or small; why did backward raise; what will move."""
